from pathlib import Path

from letorlab.derive import derive_folds
from letorlab.jobs import job

with job(snakemake.log[0]):
    derive_folds(
        Path(snakemake.input.folds).parent,
        snakemake.output[0],
        folds=snakemake.params.folds,
        copies=snakemake.params.copies,
        max_documents=snakemake.params.max_documents,
        seed=snakemake.params.seed,
    )
