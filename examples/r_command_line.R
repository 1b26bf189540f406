# A private logistic regression from R, by the command line: no Python in the session.
set.seed(1)
n <- 3000
age <- round(pmin(pmax(rnorm(n, 62, 12), 18), 100))
smoker <- sample(c("yes", "no"), n, replace = TRUE)
relapse <- ifelse(runif(n) < plogis(0.1 * (age - 62)), "yes", "no")
write.csv(data.frame(age, smoker, relapse), "patients.csv", row.names = FALSE, na = "")
writeLines(c(
  "format: dpsparse-dictionary",
  "version: 1",
  "columns:",
  "- {name: age, kind: number, bounds: [18, 100], unit: year}",
  "- {name: smoker, kind: boolean}",
  "- {name: relapse, role: target, kind: category, categories: ['no', 'yes']}"
), "patients.yaml")
run <- function(...) stopifnot(system2("dpsparse", c(...)) == 0)
run("fit", "patients.csv", "--dictionary", "patients.yaml", "--epsilon", "1", "--out", "table.json")
run("predict", "table.json", "patients.csv", "--proba", "--out", "risk.csv")
print(head(read.csv("risk.csv"), 3))
