'use strict';
// Light or dark, before the first paint; so this is no module. `data-theme` always says which of the two is shown.

(() => {
  const KEY = 'helenus-theme';
  const CHOICES = ['auto', 'light', 'dark'];
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  let choice = 'auto';
  try {
    // A browser may refuse to keep anything.
    choice = CHOICES.find((known) => known === localStorage.getItem(KEY)) ?? 'auto';
  } catch { /* then it follows the system */ }

  function show() {
    const shown = choice === 'auto' ? (system.matches ? 'dark' : 'light') : choice;
    if (document.documentElement.dataset.theme !== shown) {
      document.documentElement.dataset.theme = shown;
      document.dispatchEvent(new Event('themechange'));
    }
    const button = document.getElementById('theme');
    if (button) {
      button.textContent = `Theme: ${choice}`;
    }
  }

  show();
  system.addEventListener('change', show);
  document.addEventListener('DOMContentLoaded', () => {
    document.getElementById('theme').addEventListener('click', () => {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      try {
        localStorage.setItem(KEY, choice);
      } catch { /* it holds until the page is left */ }
      show();
    });
    show();
  });
})();
