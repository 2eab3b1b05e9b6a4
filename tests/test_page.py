"""The report page: what it says, that it holds everything itself, and that no name breaks it."""

import re
import shutil
import time
from html.parser import HTMLParser

import pytest
import yaml
from synthetic_study import big_config, card_paths, fit_paths, small_config, write_study

from letorlab.atomic import write_json
from letorlab.csvtable import read_table
from letorlab.errors import InputError
from letorlab.provenance import sha256_of
from letorlab.report.cells import fixed, metric_name
from letorlab.report.figures import write_figures
from letorlab.report.page import PageInput, build_page
from letorlab.report.svg import inline_svg

PROVENANCE = {"code hash": "0123456789abcdef", "git revision": None, "packages": {"numpy": "2.4.6"}}


def build(root, study, *, skipped=(), **options):
    """Write the made-up study and its page; return the page's text."""
    write_study(root, study, **options)
    return rebuild(root, study, skipped=skipped)


def rebuild(root, study, *, skipped=()):
    tables = root / "tables"
    write_figures(
        read_table(tables / "summary.csv"),
        read_table(tables / "published.csv"),
        study["methods"],
        root / "figures",
    )
    page = PageInput(tables, root / "figures", study, card_paths(root), fit_paths(root, study), PROVENANCE, skipped)
    build_page(page, root / "report" / "index.html")
    return (root / "report" / "index.html").read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Text by section, all attributes, and whether every element is closed."""

    VOID = frozenset({"meta", "link", "input", "br"})

    def __init__(self, page):
        super().__init__()
        self.open, self.attributes, self.sections, self.section = [], [], {}, "head"
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.sections[self.section] = f"{self.sections.get(self.section, '')} {data.strip()}".strip()

    def text(self, section):
        return re.sub(r"\s+", " ", self.sections[section])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    root = tmp_path_factory.mktemp("small")
    return root, Reader(build(root, small_config(), skipped=["td2003"]))


def test_sections_stand_in_reading_order(small):
    order = [
        "answer",
        "results",
        "figures",
        "tests",
        "selection",
        "training",
        "data",
        "provenance",
        "reading",
    ]
    assert [name for name in small[1].sections if name != "head"] == order


def test_answer_names_the_best_method_and_a_significant_difference(small):
    text = small[1].text("answer")
    assert "ranksvm has the highest mean on the test queries: NDCG@10 0.6236" in text
    assert "above the reference regression" in text
    assert "significant at the 5% level after Holm's correction (p = 0.020)" in text
    assert "not significant" not in text
    assert "Not in this report, since the data was not found: td2003" in text


@pytest.mark.parametrize(
    ("p_holm", "words"),
    [
        (
            0.31,
            "not significant at the 5% level after Holm's correction (p = 0.310): the test queries do",
        ),
        (0.05, "not significant"),
        (1e-9, "significant at the 5% level after Holm's correction (p < 0.001)"),
        ("", "no test is possible here"),
    ],
)
def test_answer_is_honest_about_the_test(tmp_path, p_holm, words):
    assert words in Reader(build(tmp_path, small_config(), p_holm=p_holm)).text("answer")


def test_answer_when_the_reference_itself_is_best(tmp_path):
    study = small_config()
    study["evaluation"]["reference"] = "ranksvm"
    text = Reader(build(tmp_path, study)).text("answer")
    assert "Ranksvm is the reference itself: no other method has a higher mean. The next one is regression" in text


def test_answer_without_any_comparison(tmp_path):
    write_study(tmp_path, small_config())
    table = tmp_path / "tables" / "comparisons.csv"
    table.write_text(table.read_text().splitlines()[0] + "\n")
    reader = Reader(rebuild(tmp_path, small_config()))
    assert "was not tested" in reader.text("answer")
    assert "No comparison was made" in reader.text("tests")


def test_published_values_stand_beside_ours_and_the_others_are_listed(small):
    text = small[1].text("results")
    assert "published as RankSVM-Primal" in text
    assert "0.6236 0.589 to 0.658 published 0.4504 ours +0.1732" in text
    assert "SmoothRank published" in text and "Regression published" not in text
    assert "LETOR 3.0 published baselines" in text
    for column in ("NDCG@1 ", "NDCG@3", "NDCG@5", "NDCG@10", "P@10", "MAP"):
        assert column in text
    assert "NDCG@2" not in text


def test_columns_stop_at_the_cutoff(tmp_path):
    study = small_config()
    write_study(tmp_path, study)
    path = tmp_path / "tables" / "summary.csv"
    rows = read_table(path)
    rows[rows["k"].isna() | (rows["k"] <= 4)].to_csv(path, index=False)
    reader = Reader(rebuild(tmp_path, study))
    text = reader.text("results")
    assert all(column in text for column in ("NDCG@1 ", "NDCG@3", "NDCG@4", "P@4", "MAP"))
    assert "NDCG@5" not in text and "NDCG@10" not in text
    assert "NDCG@4" in reader.text("answer")


def test_best_value_of_each_column_is_marked_once_and_never_a_published_one(small):
    marked = [value for tag, name, value in small[1].attributes if name == "class" and "best" in value.split()]
    assert len(marked) == 2 * 6  # two data sets, six columns
    page = (small[0] / "report" / "index.html").read_text()
    greyed = re.findall(r'<tr class="greyed">.*?</tr>', page, re.DOTALL)
    assert len(greyed) == 10 and not any("best" in row for row in greyed)


def test_tuning_shows_parameters_and_marks_the_end_of_a_grid(small):
    text = small[1].text("selection")
    assert "C = 0.001 C at the end of the grid MAP 0.4500 0.4400 −0.0100" in text


def test_fits_that_did_not_converge_are_listed(tmp_path):
    reader = Reader(build(tmp_path, small_config(), diverged=2))
    assert "2 of 30 selected fits did not converge" in reader.text("training")
    assert "regression on ohsumed, fold 2 (relative gap 3e-05)" in reader.text("training")
    assert "2 of 30 selected fits did not converge" in reader.text("answer")


def test_all_fits_converged(small):
    assert "All 30 fits of the selected trials converged." in small[1].text("training")
    assert "367,663" in small[1].text("training")


def test_data_cards(small):
    text = small[1].text("data")
    assert "Documents 16,140" in text
    assert "Labels 0: 11,303, 1: 2,585, 2: 2,252" in text
    assert "Queries without relevant document 1" in text
    assert "Constant features none" in text and "Folds 1, 2, 3, 4, 5" in text
    assert "Parts and files" in text and "files S5 status known" in text
    assert "Derived queries" not in text


def test_derived_cards_have_their_own_table(tmp_path):
    card = {
        "skipped": 3,
        "sizes": {"min": 2, "mean": 45.0, "max": 98},
        "skipped_qids": ["WT04-1", "7"],
        "relevant_before": 0.12345,
    }
    write_json(tmp_path / "data" / "toy2" / "derived" / "fold4.card.json", card)
    text = Reader(build(tmp_path, small_config())).text("data")
    assert "Derived queries (training only)" in text
    assert "Skipped" in text
    assert "toy2 4 n/a 3 n/a n/a 2 to 98, mean 45 n/a n/a 0.123 n/a" in text
    assert "WT04-1" not in text  # hundreds of qids would not help a reader


def test_provenance_holds_config_versions_and_hashes(small):
    root, reader = small
    text = reader.text("provenance")
    assert "packages numpy 2.4.6" in text and "git revision n/a" in text
    for name in ("summary", "comparisons", "trials", "published"):
        assert f"{name}.csv {sha256_of(root / 'tables' / f'{name}.csv')}" in text
    shown = re.search(r"<pre[^>]*>(.*?)</pre>", (root / "report" / "index.html").read_text(), re.DOTALL)
    assert shown and yaml.safe_load(shown[1]) == small_config()


def test_page_loads_nothing_and_its_identifiers_are_unique(small):
    page = (small[0] / "report" / "index.html").read_text()
    assert "http://" not in page and "https://" not in page and "@import" not in page
    loads = [value for _, name, value in small[1].attributes if name in ("src", "href", "srcset", "action")]
    assert loads and all(value.startswith("#") or value == "data:," for value in loads)
    assert "default-src 'none'" in page
    names = [value for _, name, value in small[1].attributes if name == "id"]
    assert len(names) == len(set(names))
    assert {value[1:] for value in loads if value.startswith("#")} <= set(names)
    assert set(re.findall(r"url\(#(.*?)\)", page)) <= set(names)


HOSTILE = "\"><script>alert(1)</script>' {{ 7*7 }} --> </style>"


def test_a_hostile_name_is_only_text(tmp_path):
    study = small_config()
    study["methods"] = {"regression": {}, HOSTILE.replace("/", "∕"): {}, "{% raw %}": {"published": HOSTILE}}
    study["datasets"] = {"<img src=x onerror=alert(1)>": {}}
    page = build(tmp_path, study, skipped={"<b>": "<i>"})
    reader = Reader(page)
    assert page.count("<script") == 1 and "<img" not in page and "<b>" not in page and "<i>" not in page
    assert "{{ 7*7 }}" in reader.text("results") and "49" not in reader.text("answer")
    assert not any(name.startswith("on") for _, name, _ in reader.attributes)


def test_the_same_input_gives_the_same_page(small):
    root, _ = small
    before = (root / "report" / "index.html").read_bytes()
    assert rebuild(root, small_config(), skipped=["td2003"]).encode() == before


def test_a_missing_table_is_named(tmp_path):
    write_study(tmp_path, small_config())
    page = PageInput(tmp_path / "tables", tmp_path, small_config(), [], [], {})
    (tmp_path / "tables" / "trials.csv").unlink()
    with pytest.raises(InputError, match=r"trials\.csv is missing.*tables"):
        build_page(page, tmp_path / "index.html")
    assert not (tmp_path / "index.html").exists()


def test_a_large_study_builds_quickly_and_stays_small(tmp_path):
    start = time.perf_counter()
    page = build(tmp_path, big_config(25, 7))
    assert time.perf_counter() - start < 60
    assert len(page.encode()) < 15e6
    assert page.count('<article class="answer') == 7


def test_inlined_figures_take_the_colours_of_the_page():
    svg = (
        '<?xml version="1.0"?><!DOCTYPE svg><svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="8pt">'
        '<!-- <script> --><g id="a" style="fill: #22262b; clip-path: url(#a)"/><use xlink:href="#a"/></svg>'
    )
    assert inline_svg(svg, "f1") == (
        '<svg><g id="f1-a" style="fill: currentColor; clip-path: url(#f1-a)"/><use href="#f1-a"/></svg>'
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    flags = ["headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"]
    for flag in [*flags, "disable-component-update", "disable-sync"]:
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


def column(browser, table, number):
    cells = browser.find_elements("css selector", f"#{table} tbody tr:not([hidden]) > :nth-child({number})")
    return [cell.get_attribute("data-key") for cell in cells]


@pytest.mark.browser
def test_tables_sort_and_filter_from_the_keyboard(small, browser):
    browser.get((small[0] / "report" / "index.html").as_uri())
    button = browser.find_elements("css selector", "#results-ohsumed thead button")[1]
    button.send_keys("\n")
    falling = column(browser, "results-ohsumed", 2)
    button.send_keys(" ")
    rising = column(browser, "results-ohsumed", 2)
    values = sorted(float(value) for value in rising[:3])
    assert [float(value) for value in rising[:3]] == values
    assert [float(value) for value in falling[:3]] == values[::-1]
    assert falling[3:] == rising[3:] == [""] * 10  # missing values stay at the end
    box = browser.find_element("css selector", "input[aria-controls=results-ohsumed]")
    box.send_keys("RANKSVM primal")
    assert column(browser, "results-ohsumed", 1) == ["ranksvm"]
    assert "1 of 13 rows" in browser.page_source
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_only_tables_and_figures_scroll_sideways(small, browser, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get((small[0] / "report" / "index.html").as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_numbers_and_names_are_written_for_readers():
    assert [fixed(x, 4, signed=True) for x in (0.01234, -0.5, -0.00001, 0.00001)] == [
        "+0.0123",
        "−0.5000",
        "0.0000",
        "0.0000",
    ]
    names = [metric_name(*pair) for pair in (("ndcg", 10), ("map", None), ("ndcg_standard_exp", 3), ("mine", 5))]
    assert names == ["NDCG@10", "MAP", "NDCG@3 std-exp", "mine@5"]
