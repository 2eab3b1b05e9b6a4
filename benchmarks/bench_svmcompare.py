"""SVMCompare: ours (libsvm on the structured kernel) against R with kernlab, as the paper's Algorithm 1 has it.

Both build the kernel of the flipped comparisons and solve the dual of the model "compare", in one run; medians of 5 for
ours and of 3 for R, whose times are taken inside R. The algorithm multiplies the kernel of all documents by a dense
matrix from both sides; ours adds four blocks. Below, the low-rank primal on all pairs of a training fold, with ties.
Without R and kernlab (Debian: r-base-core, r-cran-kernlab) their side is left out.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from bench_gaussian import median_of
from bench_ranksvm import data

from letorlab.comparison_rule import fit_dual, strict_first
from letorlab.kernels import Gaussian
from letorlab.rankers.svmcompare import SVMCompare
from letorlab.scaling import Scaling
from letorlab.simulate.norms import draw_comparisons
from letorlab.solvers.pair_dual import pair_gram

SIZES, C, GAMMA, TOL = (400, 800), 10.0, 0.4, 1e-3
RSCRIPT = """
suppressMessages(library(kernlab))
args <- commandArgs(TRUE)
file <- args[1]; m <- as.integer(args[2]); n_strict <- as.integer(args[3])
X <- matrix(readBin(file, "double", 4 * m), 2 * m, 2, byrow=TRUE)
y <- rep(c(1, -1), c(n_strict, m - n_strict))
gram <- function() {
  M <- rbind(-diag(m), diag(m))
  t(M) %*% kernelMatrix(rbfdot(as.numeric(args[6])), X) %*% M
}
fit <- function(K) {
  ksvm(as.kernelMatrix(K), y, type="C-svc", C=as.numeric(args[4]), tol=as.numeric(args[5]), fit=FALSE)
}
clock <- function(run) median(replicate(3, system.time(run())[["elapsed"]]))
K <- gram()
cat(clock(gram), clock(function() fit(K)), obj(fit(K)))
"""


def kernlab(X: np.ndarray, X_prime: np.ndarray, n_strict: int) -> tuple[float, float, float]:
    """Seconds of the kernel and of the fit, and the dual objective 1/2 v'Kv - sum v."""
    with tempfile.TemporaryDirectory() as folder:
        documents, script = Path(folder) / "documents", Path(folder) / "fit.R"
        documents.write_bytes(np.concatenate([X, X_prime]).tobytes())
        script.write_text(RSCRIPT)
        words = ["Rscript", script, documents, len(X), n_strict, C, TOL, GAMMA]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    kernel, fit, objective = map(float, done.stdout.split())
    return kernel, fit, objective


def row(n: int) -> None:
    X, X_prime, n_strict = strict_first(draw_comparisons("l1", n // 2, n - n // 2, "bench"))
    scaling = Scaling.of(np.concatenate([X, X_prime]))
    X, X_prime = scaling(X), scaling(X_prime)
    kernel, gram = median_of(lambda: pair_gram(Gaussian(GAMMA**-0.5), X, X_prime))
    fit, result = median_of(lambda: fit_dual(gram, n_strict, "compare", C, tol=TOL, max_iter=10**7))
    line = f"  {n:11} {len(X):6} {kernel:6.3f} + {fit:.3f} s"
    if shutil.which("Rscript"):
        v, label = np.abs(result.coef[:-1]), np.where(np.arange(len(X)) < n_strict, 1.0, -1.0)
        ours = 0.5 * (label * v) @ gram @ (label * v) - v.sum()
        their_kernel, their_fit, objective = kernlab(X, X_prime, n_strict)
        ratios = f"{(their_kernel + their_fit) / (kernel + fit):6.1f} {their_fit / fit:8.1f}"
        line += f" {their_kernel:8.3f} + {their_fit:.3f} s {ratios}   dual {ours:.3f}, kernlab {objective:.3f}"
    print(line, flush=True)


def main() -> None:
    print(f"\nSVMCompare, Gaussian kernel, C = {C:g}, gamma = {GAMMA:g}: comparisons with half of them ties")
    print("  comparisons  pairs letorlab: kernel + fit     R: kernel + fit  ratio  fit alone")
    for n in SIZES:
        row(n)
    name, queries = data()
    model = SVMCompare(C=1e-3, sigma=8.0, rank=256, tol=1e-3)
    seconds, fitted = median_of(lambda: model.fit(queries.X, queries.y, queries.qid_of_docs))
    n_pairs, gap = fitted.fit_facts_["n_pairs"], fitted.result_.relative_gap
    print(f"  all pairs of {name}, {n_pairs} with ties, rank 256: {seconds:.2f} s, relative gap {gap:.0e}")


if __name__ == "__main__":
    main()
