from pathlib import Path

from letorlab.fitting import fit_folds
from letorlab.jobs import job
from letorlab.rankers import ranker_class

with job(snakemake.log[0]):
    fit = snakemake.params.fit
    fit_folds(
        ranker_class(fit["ranker"]),
        fit["trials"],
        data=Path(snakemake.input[0]).parent,
        folds=snakemake.params.folds,
        train_on=fit["train_on"],
        seed=fit["seed"],
        outputs=list(snakemake.output),
    )
