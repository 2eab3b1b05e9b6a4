from pathlib import Path

from letorlab.atomic import write_json
from letorlab.jobs import job
from letorlab.provenance import environment, git_revision
from letorlab.tracking import sync

with job(snakemake.log[0]):
    study = Path(snakemake.output[0]).parent
    provenance = {"revision": git_revision() or "not a git checkout", **environment()}
    counts = sync(study.parent, study, snakemake.config, provenance)
    write_json(snakemake.output[0], counts)
