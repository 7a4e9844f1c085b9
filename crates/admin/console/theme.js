'use strict';
// Light or dark, before the first paint; so this is no module.

(() => {
  const KEY = 'helenus-theme';
  const CHOICES = ['auto', 'light', 'dark'];
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  let choice = 'auto';
  try {
    choice = CHOICES.find((known) => known === localStorage.getItem(KEY)) ?? 'auto';
  } catch { /* nothing is kept */ }

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
      } catch { /* nothing is kept */ }
      show();
    });
    show();
  });
})();
