// The login: shown when the node asks for one. The password is sent once and not kept; the cookie is the browser's, and no script sees it.

import { say } from './lists.js';

const at = (id) => document.getElementById(id);

const state = { isAsking: false };

export function start() {
  at('login-form').addEventListener('submit', (event) => {
    event.preventDefault();
    logIn();
  });
  at('logout').addEventListener('click', logOut);
}

export function isAsking() {
  return state.isAsking;
}

// Hides what the node does not show to whoever has not logged in.
export function ask() {
  if (state.isAsking) {
    return;
  }
  state.isAsking = true;
  show();
  say(at('state'), 'log in to see this node');
  at('login-user').focus();
}

function show() {
  at('gate').hidden = !state.isAsking;
  at('logout').hidden = true;
  document.querySelector('main').hidden = document.querySelector('nav').hidden = state.isAsking;
}

async function post(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), cache: 'no-store' });
  if (!response.ok) {
    throw new Error((await response.json()).message);
  }
}

async function logIn() {
  say(at('login-error'), '');
  try {
    await post('/helenus/login', { user: at('login-user').value, password: at('login-password').value });
    state.isAsking = false;
    show();
    at('statement').focus();
  } catch (error) {
    say(at('login-error'), error.message);
  }
  at('login-password').value = '';
}

async function logOut() {
  await post('/helenus/logout', {});
  ask();
}
