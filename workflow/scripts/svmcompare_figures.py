from pathlib import Path

from letorlab.jobs import job
from letorlab.simulate.svmcompare_figures import write_figures

with job(snakemake.log[0]):
    write_figures(Path(snakemake.output[0]).parent)
