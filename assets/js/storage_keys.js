// localStorage keys of what the user did in the lesson.
export const ANSWERS = "headscope-lesson";
export const BUDGET = "headscope-budget"; // how 100 % were spread, by the name of the sentence
