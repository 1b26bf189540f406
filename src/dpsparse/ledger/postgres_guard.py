"""Functions in PostgreSQL through which roles append: the database itself checks order and arithmetic.

Guarantee
---------
A role with SELECT on the tables and EXECUTE on these functions, and no other right, can add an event
only after the last one, to an entry that allows it (`state.MAY_FOLLOW`), with a state that follows
from the state before: a reservation adds its costs, which are not negative, within the capacity of
a filter or as the first entry; a refund takes those of its own entry off; nothing else changes. It
cannot change or remove an event. The functions run with the rights of the owner, see no table but
the ledger's, and read nothing of the caller but these values. Hashes, seals and prices are compared
by every process and by `verify`: a caller who passes wrong ones stops the ledger, and gains nothing.
"""

from __future__ import annotations

from ..accounting.filters import PARTS
from .chain import EVENTS, HEAD
from .state import MAY_FOLLOW

LOCK, APPEND = "dpsparse_ledger_lock", "dpsparse_ledger_append"
#: The types by which the second one is named, as a grant needs them.
SIGNATURE = "integer, text, integer, text, text, text, text, text, text"

_RULES = " OR ".join(
    f"(given_what = '{what}' AND before.what IN ({', '.join(repr(w) for w in earlier)}))"
    for what, earlier in MAY_FOLLOW.items()
)

#: What is compared where PostgreSQL has no operator: totals of one state and costs of an entry, by name.
_MOVED = """
  SELECT coalesce(bool_and((now_state->'totals'->>k)::numeric = coalesce((old_state->'totals'->>k)::numeric, 0)
      + way * coalesce((costs->>k)::numeric, 0)), true)
    AND (SELECT count(*) FROM jsonb_object_keys(now_state->'totals')) >= (SELECT count(*) FROM jsonb_object_keys(costs))
  FROM jsonb_object_keys(now_state->'totals') AS k"""

FUNCTIONS = (
    f"""CREATE FUNCTION {LOCK}() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN PERFORM number FROM {HEAD} FOR UPDATE; END $$""",
    f"""CREATE FUNCTION {APPEND}(given_number integer, given_dataset text, given_entry integer, given_what text,
  given_body text, given_previous text, given_hash text, given_ends text, given_seal text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  head {HEAD}%ROWTYPE;
  before {EVENTS}%ROWTYPE;
  body jsonb := given_body::jsonb;
  now_state jsonb := body->'state';
  old_state jsonb;
  costs jsonb := '{{}}';
  way integer := 0;
  slack numeric := 0;
  moved boolean;
BEGIN
  SELECT * INTO STRICT head FROM {HEAD} FOR UPDATE;
  IF given_number <> head.number + 1 OR given_previous <> head.hash THEN
    RAISE EXCEPTION 'an event of a ledger follows the last one';
  END IF;
  IF given_what = 'open' THEN
    IF given_number <> 1 OR given_dataset <> '' OR given_ends::jsonb <> '{{}}' THEN
      RAISE EXCEPTION 'a ledger is opened once';
    END IF;
  ELSE
    IF given_dataset = '' OR given_ends::jsonb
        <> head.ends::jsonb || jsonb_build_object(given_dataset, given_number) THEN
      RAISE EXCEPTION 'the head of a ledger names the last event of each dataset';
    END IF;
    IF head.ends::jsonb ? given_dataset THEN
      SELECT e.body::jsonb->'state' INTO STRICT old_state FROM {EVENTS} e
        WHERE e.number = (head.ends::jsonb->>given_dataset)::integer;
    END IF;
    IF (given_what = 'create') <> (old_state IS NULL) THEN
      RAISE EXCEPTION 'a dataset of a ledger is opened once, before anything else';
    END IF;
    IF given_what = 'create' THEN
      old_state := now_state || jsonb_build_object('live', 0, 'slack', {PARTS});
    ELSIF given_what = 'reserve' THEN
      costs := body->'costs'; slack := (body->>'slack')::numeric; way := 1;
      IF given_entry <> given_number OR slack < 0
          OR EXISTS (SELECT FROM jsonb_each_text(costs) c WHERE c.value::numeric < 0) THEN
        RAISE EXCEPTION 'an entry of a ledger has its own number and no cost below zero';
      END IF;
      IF old_state->'kind' = 'null' THEN
        old_state := old_state || jsonb_build_object('kind', now_state->'kind', 'filters', now_state->'filters',
          'totals', '{{}}'::jsonb);
      END IF;
      IF (now_state->>'live')::numeric <> 1 AND NOT EXISTS (SELECT FROM jsonb_array_elements(now_state->'filters') f
          WHERE (now_state->'totals'->>(f->>'name'))::numeric <= (f->>'capacity')::numeric) THEN
        RAISE EXCEPTION 'the budget of a dataset is not exceeded';
      END IF;
    ELSE
      SELECT * INTO before FROM {EVENTS} e WHERE e.number >= given_entry AND e.entry = given_entry
        AND e.dataset = given_dataset ORDER BY e.number DESC LIMIT 1;
      IF NOT FOUND OR NOT ({_RULES}) THEN
        RAISE EXCEPTION 'an entry of a ledger is reserved, started, resumed, and confirmed or refunded, in this order';
      END IF;
      IF given_what = 'refund' THEN
        SELECT e.body::jsonb->'costs', (e.body::jsonb->>'slack')::numeric INTO STRICT costs, slack FROM {EVENTS} e
          WHERE e.number = given_entry AND e.what = 'reserve';
        way := -1;
      END IF;
    END IF;{_MOVED} INTO moved;
    IF NOT moved OR now_state - '{{totals,live,slack}}'::text[] <> old_state - '{{totals,live,slack}}'::text[]
        OR (now_state->>'live')::numeric <> (old_state->>'live')::numeric + way
        OR (now_state->>'slack')::numeric <> (old_state->>'slack')::numeric - way * slack
        OR (now_state->>'slack')::numeric < 0
        OR (given_what = 'create' AND EXISTS (SELECT FROM jsonb_each_text(now_state->'totals') c
          WHERE c.value::numeric <> 0)) THEN
      RAISE EXCEPTION 'the state of a dataset follows from the one before and from the entry';
    END IF;
  END IF;
  INSERT INTO {EVENTS} (number, dataset, entry, what, body, previous, hash)
    VALUES (given_number, given_dataset, given_entry, given_what, given_body, given_previous, given_hash);
  UPDATE {HEAD} SET number = given_number, hash = given_hash, ends = given_ends, seal = given_seal WHERE one = 1;
END $$""",
    f"REVOKE ALL ON FUNCTION {LOCK}(), {APPEND}({SIGNATURE}) FROM PUBLIC",
)
