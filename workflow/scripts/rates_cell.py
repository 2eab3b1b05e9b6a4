import pandas as pd

from letorlab.csvtable import write_table
from letorlab.jobs import job
from letorlab.simulate.rates import rate_rows

with job(snakemake.log[0]):
    params, cell = snakemake.params, snakemake.wildcards
    rows = rate_rows(cell.setting, int(cell.n), range(1, params.seeds + 1), n_test=params.n_test)
    write_table(pd.DataFrame(rows), snakemake.output[0])
