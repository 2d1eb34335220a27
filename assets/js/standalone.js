// The picture in a file of its own: its entry.
import { alone } from "./alone.js";

alone(JSON.parse(document.getElementById("data").textContent));
