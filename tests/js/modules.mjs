// Where the component's modules are: tests that import them from here follow when they move.
export * as compare from "../../assets/js/compare/change.js";
export * as format from "../../assets/js/format.js";
export * as numbers from "../../assets/js/numbers.js";
export * as records from "../../assets/js/record.js";
export * as tables from "../../assets/js/table.js";
export * as words from "../../assets/js/words.js";
