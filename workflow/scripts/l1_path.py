from pathlib import Path

import pandas as pd

from letorlab.atomic import read_json
from letorlab.csvtable import write_table
from letorlab.fitting import training_queries
from letorlab.jobs import job
from letorlab.l1path import path_rows
from letorlab.prepared import load_split

with job(snakemake.log[0]):
    data, fold = Path(snakemake.input.folds).parent, snakemake.params.fold
    train = training_queries(data, fold, snakemake.params.train_on)
    rows = path_rows(read_json(snakemake.input.fit)["params"], train, load_split(data, fold, "vali"))
    write_table(pd.DataFrame(rows), snakemake.output[0])
