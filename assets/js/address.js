// What a page does with the address that a reader came by; it is mounted on the first visit alone.
import { complete, oneStepASentence, stayHere } from "./history.js";

export default function address({ data }) {
  oneStepASentence(history, () => location.href);
  stayHere(document, () => location.href);
  complete(history, location.href, data.before, data.after);
}
