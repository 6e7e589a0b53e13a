import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/notices.css";
import "./style/login.css";
import "./style/panels.css";
import "./style/overview.css";
import "./style/log.css";
import "./style/filters.css";
import "./style/fleet.css";
import "./style/fleet-questions.css";
import "./style/drawer.css";
import "./style/explain.css";
import "./style/setup.css";
import "./style/clients.css";
import "./style/week.css";
import "./style/people.css";
import "./style/audit.css";
import "./style/palette.css";
import "./style/tried.css";
import "./style/statistics.css";
import "./style/configuration.css";
import "./style/overlaps.css";
import "./style/bypass.css";
import "./style/page.css";
import "./style/welcome.css";
import { App } from "./app";
import { begin, speakChosen } from "./state";

const root = document.getElementById("app");
// In the chosen language from the first word on.
void speakChosen().then(() => {
  if (root) render(<App />, root);
  void begin();
});
