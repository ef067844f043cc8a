/* The report of a VibeCheck run, over two models or more. */
import { el } from "./dom.js";
import { banner, callCards, pageData, showPage } from "./frame.js";
import { rankingLede, rankingMatrix, rankingTable, rankingTitle } from "./ranking.js";
import { rowBrowser } from "./rows.js";
import { accuracyCard, cascade, eachVibe, failedForGood, groups, judges, judgesCard, lede, methods, overlap, preferredCard, presets, rowsCard, story, title, vibeTable, VIBES_MAX, warnings } from "./vibecheck.js";

const data = pageData(), { results } = data, ranking = results.ranking;

const headline = el("section", { id: "headline", class: "cards", "aria-label": "In numbers" },
  accuracyCard(data, "Model matching (MM)", "How often the vibes tell which model wrote which output. The line marks guessing.", results.mm,
    ranking ? ranking.multinomial.chance : 0.5),
  accuracyCard(data, "Preference prediction (PP)", ranking
    ? "How often they tell which of two outputs is preferred. The line marks always naming the one of the two whose model is preferred more often in train."
    : "How often they tell which output is preferred. The line marks always naming the model that is preferred more often in train.",
  results.pp, results.pp.majority_baseline),
  rowsCard(results), preferredCard(data), judgesCard(results), callCards(data.calls, failedForGood(results), results.settings.truncate));

if (ranking) {
  showPage(data, "vibeq report", rankingTitle(data), [banner(results, "how the models differ."), rankingLede(data)],
    [headline, warnings(results), rankingMatrix(data), rankingTable(data), story(data), methods(data)]);
} else {
  const rows = rowBrowser(data, results.vibes.slice(0, VIBES_MAX));
  showPage(data, "vibeq report", title(data), [banner(results, "how the models differ."), lede(data)],
    [headline, warnings(results), vibeTable(data), cascade(data), eachVibe(data, rows.look), rows.part, judges(data), groups(data), overlap(data), presets(data), story(data), methods(data)]);
  rows.refresh();
}
