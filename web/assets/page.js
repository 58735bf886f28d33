// The pages work without this. It takes the code of a sign-in out of the address, which browsers
// send to nobody, moves through lists by keys, and follows what happens.
const form = document.querySelector("#code-form");
if (form && location.hash.length > 1) {
  form.elements.code.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

// j and k move the focus, / goes to the search.
const links = [...document.querySelectorAll(".rows > li > a, .cards a, details.file > summary")];
addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("input[type=search]").focus();
  }
  const step = { j: 1, k: -1 }[event.key];
  if (!step || !links.length) return;
  const now = links.indexOf(document.activeElement);
  const next = now < 0 ? 0 : Math.max(0, Math.min(links.length - 1, now + step));
  links[next].focus();
});

// follow keeps a stream open while the page is seen. A browser opens it again by itself where the
// connection ended, behind the last event; where it was refused, this does, more and more slowly.
// A hidden page gives its connection back, because browsers have few for one server.
function follow(address, take, say) {
  let source = null;
  let timer = 0;
  let last = "";
  let wait = 2000;
  let paused = false;
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    const at = new URL(address, location.href);
    if (last) at.searchParams.set("after", last);
    const mine = new EventSource(at);
    source = mine;
    mine.onopen = () => {
      wait = 2000;
      say("");
    };
    mine.onmessage = (event) => {
      last = event.lastEventId;
      take(JSON.parse(event.data));
    };
    mine.onerror = () => {
      if (mine !== source) return;
      say("Not connected; trying again.");
      if (mine.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, wait);
      wait = Math.min(2 * wait, 60000);
    };
  };
  const update = () => {
    if (paused || document.hidden) close();
    else if (!source) open();
  };
  document.addEventListener("visibilitychange", update);
  addEventListener("pagehide", close);
  addEventListener("pageshow", update);
  update();
  return (value) => {
    paused = value;
    update();
  };
}

// The page of events adds them at its top, until it is paused. Texts of others are never markup.
const list = document.querySelector("#live");
if (list) {
  const linesMax = 200;
  const button = document.querySelector("#pause");
  const state = document.querySelector("#live-state");
  const part = (name, text, address) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (address) made.href = address;
    return made;
  };
  const pause = follow(list.dataset.stream, (event) => {
    const line = document.createElement("li");
    const time = part("time", new Date(event.at).toLocaleTimeString());
    time.dateTime = event.at;
    const who = part("span", `${event.who} · ${event.what}`);
    const where = part("span", "in ");
    who.className = where.className = "facts";
    where.append(part("a", event.project, event.in));
    line.append(time, " ", who, " ", part("a", event.title, event.link), " ", where);
    list.prepend(line);
    // The line with the focus stays.
    const oldest = list.lastElementChild;
    if (list.children.length > linesMax && !oldest.contains(document.activeElement)) {
      oldest.remove();
    }
  }, (text) => { state.textContent = text; });
  let paused = false;
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Continue" : "Pause";
    state.textContent = paused ? "Paused." : "";
    pause(paused);
  });
}

// Other pages say that something is new. They change nothing under the reader.
const fresh = document.querySelector("#fresh");
if (fresh) {
  let count = 0;
  const link = document.createElement("a");
  link.href = location.pathname + location.search;
  follow(fresh.dataset.stream, () => {
    count += 1;
    link.textContent = `${count} new: show`;
    if (count === 1) fresh.append(link);
  }, () => {});
}
