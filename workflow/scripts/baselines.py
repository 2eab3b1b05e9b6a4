from letorlab.atomic import write_text
from letorlab.csvtable import read_table
from letorlab.jobs import job
from letorlab.report.baselines import baselines_page

with job(snakemake.log[0]):
    metrics, published = (read_table(snakemake.input[name]) for name in ("metrics", "published"))
    write_text(snakemake.output[0], baselines_page(metrics, published, snakemake.params.methods))
