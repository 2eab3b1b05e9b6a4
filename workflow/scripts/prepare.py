from pathlib import Path

from letorlab.datasets import resolve
from letorlab.jobs import job
from letorlab.prepare import prepare
from letorlab.sources import require_sources

with job(snakemake.log[0]):
    data = snakemake.config["data"]
    dataset = resolve(snakemake.wildcards.dataset, snakemake.params.block)
    prepare(
        dataset,
        require_sources([dataset], data["home"], data["cache"])[dataset.name],
        Path(snakemake.output.card).parent,
        cache=data["cache"],
        folds=snakemake.params.folds,
        seed=snakemake.params.seed,
    )
