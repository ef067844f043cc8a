/* Numbers that the report and the page of a run write alike. */

export const isNumber = (value) => typeof value === "number";
export const count = (n) => n.toLocaleString("en");
export const dollars = (usd) => "$" + (usd > 0 && usd < 0.01 ? usd.toFixed(4) :
  usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }));
