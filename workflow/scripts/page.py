from pathlib import Path

from letorlab.jobs import job
from letorlab.provenance import environment, git_revision
from letorlab.report.page import PageInput, build_page

with job(snakemake.log[0]):
    study = Path(snakemake.output[0]).parents[1]
    page = PageInput(
        tables=study / "tables",
        figures=study / "figures",
        config={key: value for key, value in snakemake.config.items() if key not in ("data", "only")},
        cards=[*map(Path, snakemake.input.cards), *sorted(study.glob("data/*/derived/*.card.json"))],
        fits=sorted(study.glob("runs/*/fold*/*/fit.json")),
        provenance={"revision": git_revision() or "not a git checkout", **environment()},
        skipped=snakemake.params.skipped,
        absent=snakemake.params.absent,
    )
    build_page(page, Path(snakemake.output[0]))
