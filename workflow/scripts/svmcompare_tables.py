from pathlib import Path

from letorlab.jobs import job
from letorlab.simulate.levels import write_levels
from letorlab.simulate.separable import write_separable
from letorlab.simulate.svmcompare import Grid
from letorlab.simulate.svmcompare_tables import read_cells, write_tables

with job(snakemake.log[0]):
    folder = Path(snakemake.output[0]).parent
    write_tables(read_cells(snakemake.input.cells), read_cells(snakemake.input.ties), folder)
    write_levels(Grid.of_paper(snakemake.params.grid), folder)
    write_separable(snakemake.params.seed, folder)
