# What the configuration asks for, as names that the rules loop over. No data is read here.
import re
from pathlib import Path

from letorlab.checks import check_parameters_of, check_study
from letorlab.datasets import resolve
from letorlab.errors import InputError
from letorlab.jobs import watch
from letorlab.provenance import code_hash
from letorlab.rankers import missing_library, ranker_module
from letorlab.sources import available, require_sources
from letorlab.study import chosen_methods, fold_groups, methods_of

check_study(config)
config["evaluation"]["reference"] = config["evaluation"]["reference"] or next(iter(config["methods"]))


STUDY = f"results/{config['study']}"
METHODS = methods_of(config)
# Methods whose optional library is not installed are left out; the report says so.
ABSENT = {name: missing_library(method.ranker) for name, method in METHODS.items() if missing_library(method.ranker)}
CHOSEN = [name for name in chosen_methods(config) if name not in ABSENT]
if not CHOSEN:
    raise WorkflowError("no method is left: install " + ", ".join(sorted(set(ABSENT.values()))))
FOLDS = config["folds"]
DATA = config["data"]


def is_prepared(dataset):
    return Path(f"{STUDY}/data/{dataset}/card.json").exists()


def is_available(dataset):
    return is_prepared(dataset) or available(dataset, config["datasets"][dataset], DATA["home"], DATA["cache"])


# `on_missing: skip` looks at file names only; `error` is raised when a run starts, so that dry runs work without data.
SKIPPED = [d for d in config["datasets"] if DATA["on_missing"] == "skip" and not is_available(d)]
DATASETS = [d for d in config["datasets"] if d not in SKIPPED]
if not DATASETS:
    raise WorkflowError("data.on_missing is skip, and none of the data sets of this study was found")

PAGE_RESOURCES = ["report/page.html.j2", "report/page.css", "report/page.js"]


def require_all():
    """Fail before any job: on a parameter that a ranker does not have, and with one error for all missing data sets."""
    waiting = [d for d in DATASETS if not is_prepared(d)]  # those that were prepared need no files
    watch("letorlab.download")
    try:
        check_parameters_of(METHODS[name] for name in CHOSEN)
        require_sources(
            [resolve(d, config["datasets"][d]) for d in waiting],
            DATA["home"],
            DATA["cache"],
        )
    except InputError as error:
        raise WorkflowError(str(error)) from None


SIMULATE = config["simulate"]["folder"]


def only_simulations(targets):
    """Whether a run makes nothing that needs data sets."""
    return bool(targets) and all(str(target).startswith(("simulate_", f"{SIMULATE}/")) for target in targets)


RUN_FILES = [
    "model.joblib",
    "fit.json",
    "scores.test.csv",
    "run.trec",
    "trials.csv",
    "per_query.csv",
]


wildcard_constraints:
    method="|".join(map(re.escape, METHODS)),
    fold=r"\d+",


def method_of(wildcards):
    return METHODS[wildcards.method]


def run_files(names, methods=CHOSEN):
    """Result files of every data set, fold and method."""
    return expand(
        f"{STUDY}/runs/{{dataset}}/fold{{fold}}/{{method}}/{{name}}",
        dataset=DATASETS,
        fold=FOLDS,
        method=methods,
        name=names,
    )


def path_files():
    """The path of every l1-penalised method on every data set."""
    names = [name for name in CHOSEN if METHODS[name].ranker == "l1"]
    return expand(f"{STUDY}/paths/{{dataset}}/{{method}}.csv", dataset=DATASETS, method=names)


def training_inputs(dataset):
    """Prepared data, and the derived queries for the methods that train on them."""

    def inputs(wildcards):
        folder = f"{STUDY}/data/{dataset}"
        files = [f"{folder}/folds.json", f"{folder}/parts"]
        return files + ([f"{folder}/derived"] if method_of(wildcards).train_on == "derived" else [])

    return inputs


def fit_params(wildcards):
    """What a fit depends on besides data: the method as configured, and the code that it uses."""
    method = method_of(wildcards)
    return {
        "ranker": method.ranker,
        "trials": method.trials(),
        "train_on": method.train_on,
        "seed": config["seed"],
        "code": code_hash("letorlab.fitting", ranker_module(method.ranker)),
    }


def evaluation_facts(wildcards):
    method = method_of(wildcards)
    return {"method": method.name, "ranker": method.ranker, "train_on": method.train_on}
