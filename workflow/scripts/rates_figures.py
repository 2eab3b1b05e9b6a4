from pathlib import Path

from letorlab.jobs import job
from letorlab.simulate.rate_figures import write_rate_figures

with job(snakemake.log[0]):
    write_rate_figures(Path(snakemake.output[0]).parent)
