# A private logistic regression from R, by reticulate.
library(reticulate) # RETICULATE_PYTHON names the Python in which dpsparse is installed
dpsparse <- import("dpsparse")
np <- import("numpy")

set.seed(1)
n <- 3000L
X <- matrix(runif(n * 20, -1, 1), n) # each column is known to lie in [-1, 1]
y <- as.integer(runif(n) < plogis(3 * X[, 1] - 3 * X[, 4]))

# The estimators are those of Python. Whole numbers need an L; Python counts columns from 0.
model <- dpsparse$SparseClassifier(
  epsilon = 2, delta = 1e-6, sparsity = 2L, feature_bound = 1, classes = c(0L, 1L)
)
print(model$plan(n_rows = n, n_features = 20L)$verdict) # no data has been accessed
invisible(model$fit(X, np$array(y)))
cat("columns found:", sort(as.integer(model$support_) + 1L), "\n")
cat(as.character(model$statement_), "\n")
risk <- model$predict_proba(X)[, 2]
cat("mean predicted risk:", mean(risk), "\n")
model$save("model.json")
