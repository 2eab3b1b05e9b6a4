from pathlib import Path

from letorlab.atomic import write_json
from letorlab.jobs import job
from letorlab.provenance import git_revision
from letorlab.simulate.records import simulation_records
from letorlab.simulate.svmcompare_curves import svmcompare_curves
from letorlab.tracking import sync_records

NOTE = "One run a norm and model: `test_error` in percent over n (the step), AUC over the share of ties in percent."

with job(snakemake.log[0]):
    folder = Path(snakemake.output[0]).parent
    revision = git_revision() or "not a git checkout"
    records = simulation_records("svmcompare", folder, snakemake.params.settings, svmcompare_curves(folder), revision)
    experiment = folder.relative_to("results").as_posix()
    write_json(snakemake.output[0], sync_records("results", experiment, NOTE, records))
