import { t } from "../i18n";
import { routeHash } from "../route";
import { Icon } from "./icons";

/** The way from a page of the clients to all of them. */
export function BackLink() {
  return (
    <p class="back">
      <a href={routeHash("clients")}>
        <Icon name="back" />
        {t("clients.all")}
      </a>
    </p>
  );
}
