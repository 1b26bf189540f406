"""``dpsparse convert``: rows of any kind of file as a block file."""

from __future__ import annotations

from pathlib import Path

from .inputs import DataFile, FormOptions
from .options import command
from .output import check_file, echo, print_json, progress, telling, writing


@command()
def convert(
    data: Path,
    out: Path,
    *,
    target: str | None = None,
    n_features: int | None = None,
    form: FormOptions,
    json_: bool = False,
) -> None:
    """Write the rows of DATA to OUT, a block file (.dpsrows), which fits read quickly and within any memory.

    DATA is a file (.csv, .parquet, .svmlight, .npy, .npz, .bed, .pgen or .h5ad), or a pattern in quotes. Rows are raw:
    bounds are declared when a model is fitted. OUT can be read by its owner alone; it holds the
    private rows, so keep it as you keep them.

    \b
    Examples:
      dpsparse convert 'visits/*.parquet' visits.dpsrows --target readmitted
      dpsparse convert text.svmlight text.dpsrows --n-features 62061
      dpsparse fit visits.dpsrows --task classification --row-norm 1 --memory-limit 2GB

    Parameters
    ----------
    target
        Column of the target; svmlight and npz files hold their own. For .npy: another such file.
    n_features
        Public number of features; required for svmlight files and for lists in Parquet.
    """
    from ..io.rows import convert as write
    from ..io.rows import expand

    DataFile(data).need_target(target)
    check_file(out, "OUT", inputs=expand(data))
    with progress(json_) as visible, telling(f"converting {data}", visible) as tell, writing(out, "OUT"):
        write(
            data,
            out,
            target,
            n_features=n_features,
            zero_based=form.zero_based,
            tell=tell,
            csv=form.csv,
            covariates=form.covariates,
            fill=form.fill,
        )
    print_json({"out": out}) if json_ else echo(f"Saved: {out}")
