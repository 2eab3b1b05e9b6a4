from pathlib import Path

from letorlab.evaluate import Evaluation, evaluate_folds
from letorlab.jobs import job
from letorlab.prepared import load_card

with job(snakemake.log[0]):
    params, data = snakemake.params, Path(snakemake.input.card).parent
    evaluate_folds(
        snakemake.input.trials,
        data=data,
        evaluation=Evaluation(**params.measures, profile=load_card(data)["profile"]),
        folds=params.folds,
        facts={"dataset": params.dataset, **params.facts},
    )
