// What a page does with the address that a reader came by; it is mounted on the first visit alone.
import { complete, oneStepASentence } from "./history.js";

export default function address({ data }) {
  oneStepASentence(history, () => location.href);
  complete(history, location.href, data.before, data.after);
}
