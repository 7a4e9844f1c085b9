// The login, and what is posted. The password is not kept; no script sees the cookie.

import { at, on, tell } from './lists.js';

const state = { isAsking: false };

export function start() {
  on('login-form', 'submit', (event) => {
    event.preventDefault();
    logIn();
  });
  on('logout', 'click', logOut);
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
  tell('state', 'log in to see this node');
  at('login-user').focus();
}

function show() {
  at('gate').hidden = !state.isAsking;
  at('logout').hidden = true;
  document.querySelector('main').hidden = document.querySelector('nav').hidden = state.isAsking;
}

export async function post(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), cache: 'no-store' }).catch(() => {
    throw new Error('The node does not answer.');
  });
  const answer = JSON.parse(await response.text() || 'null');
  if (!response.ok) {
    throw new Error(answer.message);
  }
  return answer;
}

async function logIn() {
  tell('login-error', '');
  try {
    await post('/helenus/login', { user: at('login-user').value, password: at('login-password').value });
    state.isAsking = false;
    show();
    at('statement').focus();
  } catch (error) {
    tell('login-error', error.message);
  }
  at('login-password').value = '';
}

async function logOut() {
  await post('/helenus/logout', {});
  ask();
}
