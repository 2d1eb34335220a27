// Where the component's modules are: tests that import them from here follow when they move.
export * as compare from "../../assets/view/compare.js";
export * as numbers from "../../assets/view/numbers.js";
export * as records from "../../assets/view/record.js";
export * as tables from "../../assets/view/table.js";
export * as words from "../../assets/view/words.js";
