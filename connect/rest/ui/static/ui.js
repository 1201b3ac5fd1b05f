// Keeps the live part of a page as the server draws it. Without this script pages show what they were loaded with.
"use strict";

const live = document.getElementById("live");
const freshness = document.getElementById("freshness");
let events = null;

function say(text) {
  if (freshness && freshness.textContent !== text) freshness.textContent = text;
}

// Changes only what differs, so that focus, selected text and open details stay.
function follow(old, now) {
  if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) return old.replaceWith(now.cloneNode(true));
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!now.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of now.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  followChildren(old, now);
}

// What an element, or a row of a table, is about: it stays itself while others come and go beside it.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  const named = node.matches("button, a") ? node : node.matches("tr") && node.querySelector("a[href], button");
  return named ? named.nodeName + (named.value || named.getAttribute("href")) : null;
}

function laterWith(key, node) {
  while (node && keyOf(node) !== key) node = node.nextSibling;
  return node;
}

// A button never becomes another one under a finger that is about to press it.
function followChildren(old, now) {
  let place = old.firstChild;
  for (const node of now.childNodes) {
    const key = keyOf(node);
    const same = key ? laterWith(key, place) : place;
    if (!same || keyOf(same) !== key) {
      old.insertBefore(node.cloneNode(true), place);
      continue;
    }
    while (place !== same) {
      const gone = place;
      place = place.nextSibling;
      gone.remove();
    }
    place = same.nextSibling;
    follow(same, node);
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

function keepFocus(change) {
  const had = document.activeElement;
  const [name, value] = had ? [had.nodeName, had.value || had.getAttribute("href")] : [];
  change();
  if (!value || document.activeElement === had) return;
  const same = [...live.getElementsByTagName(name)].find((one) => (one.value || one.getAttribute("href")) === value);
  if (same) same.focus({ preventScroll: true });
}

function listen() {
  if (events || document.hidden) return;
  events = new EventSource(live.dataset.live);
  events.addEventListener("live", (event) => {
    const drawn = document.createElement("template");
    drawn.innerHTML = JSON.parse(event.data);
    keepFocus(() => followChildren(live, drawn.content));
    say("The figures are live.");
  });
  events.addEventListener("gone", (event) => {
    rest();
    say(`${JSON.parse(event.data)} What is shown is from before.`);
  });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) rest();
    say("The worker does not answer, or asks who you are: what is shown is from before. Load the page again.");
  });
}

function rest() {
  if (events) events.close();
  events = null;
}

if (live) {
  // A browser has few connections to one worker: a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
  listen();
}

// A form is sent once; the server would carry it out once, too.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
