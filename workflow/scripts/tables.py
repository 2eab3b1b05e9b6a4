from pathlib import Path

from letorlab.jobs import job
from letorlab.report.tables import write_tables

with job(snakemake.log[0]):
    params, folder = snakemake.params, Path(snakemake.output.metrics).parent
    write_tables(
        folder.parent / "runs",
        folder.parent / "data",
        folder,
        datasets=params.datasets,
        methods=params.methods,
        folds=params.folds,
        evaluation=params.evaluation,
        seed=params.seed,
    )
