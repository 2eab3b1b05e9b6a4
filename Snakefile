from snakemake.utils import min_version, validate

min_version("9.13")


# Snakemake merges config files, so the default one is read only if none was named on the command line.
if "study" not in config:

    configfile: "config/letor3.yaml"


validate(config, "workflow/schemas/config.schema.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/experiment.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/rates.smk"


rule all:
    default_target: True
    input:
        f"{STUDY}/mlflow.synced.json",
        f"{STUDY}/report/index.html",
        expand(f"{STUDY}/data/{{dataset}}/derived", dataset=DATASETS),
        # Asked for by name, so that a deleted file is made again.
        run_files(RUN_FILES),
