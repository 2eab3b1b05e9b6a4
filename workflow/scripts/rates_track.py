from pathlib import Path

from letorlab.atomic import write_json
from letorlab.jobs import job
from letorlab.provenance import git_revision
from letorlab.simulate.rate_curves import rate_curves
from letorlab.simulate.records import simulation_records
from letorlab.tracking import sync_records

NOTE = "One run a setting: mean excess risks over n (the step), the fitted slope and the theorem's exponent."

with job(snakemake.log[0]):
    folder = Path(snakemake.output[0]).parent
    revision = git_revision() or "not a git checkout"
    records = simulation_records("rates", folder, snakemake.params.settings, rate_curves(folder), revision)
    experiment = folder.relative_to("results").as_posix()
    write_json(snakemake.output[0], sync_records("results", experiment, NOTE, records))
