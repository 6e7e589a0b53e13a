// Runs before the first paint, so that a chosen theme never flashes the other one.
(() => {
  try {
    const theme = localStorage.getItem("tidegate.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage can be switched off; then the system's theme holds.
  }
})();
