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
import "./style/drawer.css";
import "./style/explain.css";
import "./style/setup.css";
import { App } from "./app";
import { begin } from "./state";

const root = document.getElementById("app");
if (root) render(<App />, root);
void begin();
