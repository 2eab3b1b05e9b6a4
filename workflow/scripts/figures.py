from pathlib import Path

from letorlab.csvtable import read_table
from letorlab.jobs import job
from letorlab.report.figures import write_figures

with job(snakemake.log[0]):
    summary, published = (read_table(snakemake.input[name]) for name in ("summary", "published"))
    paths = list(map(Path, snakemake.input.paths))
    write_figures(summary, published, snakemake.params.methods, Path(snakemake.output[0]), paths)
