from pathlib import Path

from letorlab.jobs import job
from letorlab.simulate.rate_tables import write_rate_tables

with job(snakemake.log[0]):
    write_rate_tables(snakemake.input, Path(snakemake.output[0]).parent)
