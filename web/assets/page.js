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
// The service keeps events for a while only: after a longer pause the events from now on are
// followed, as the page of now says, which again is given, and that is said.
function follow(address, take, say, again) {
  let source = null;
  let timer = 0;
  let last = "";
  let wait = 2000;
  let paused = false;
  let missed = false;
  const quiet = () => say(missed ? "Events of the pause are not all here." : "");
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
      quiet();
    };
    mine.onmessage = (event) => {
      last = event.lastEventId;
      take(JSON.parse(event.data));
    };
    mine.onerror = () => {
      if (mine !== source) return;
      say("Not connected; trying again.");
      if (mine.readyState !== EventSource.CLOSED) return;
      refused(at, () => mine === source);
    };
  };
  // Why a stream was refused is said to a request that is none of EventSource.
  const refused = async (at, current) => {
    const control = new AbortController();
    const ask = (to, accept) => fetch(to, { headers: { Accept: accept }, signal: control.signal });
    try {
      const { status } = await ask(at, "text/event-stream");
      if (status === 400 && current()) {
        const page = await (await ask(location.href, "text/html")).text();
        const now = new DOMParser().parseFromString(page, "text/html");
        const stream = now.querySelector("[data-stream]")?.dataset.stream;
        if (stream && current()) {
          address = stream;
          last = "";
          missed = true;
          again(now);
          open();
          return;
        }
      }
    } catch {
      // The server is gone for now.
    } finally {
      control.abort();
    }
    if (!current()) return;
    timer = setTimeout(open, wait);
    wait = Math.min(2 * wait, 60000);
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
  }, (text) => { state.textContent = text; }, (now) => {
    list.replaceChildren(...now.querySelector("#live").children);
  });
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
  }, () => {}, () => {
    link.textContent = "Much is new: show";
    fresh.append(link);
  });
}

// A click on the number of a new line of a contribution's diff fills in where a comment goes.
const decide = document.querySelector("#decide");
if (decide?.elements.line) {
  decide.classList.add("by-click");
  document.addEventListener("click", (event) => {
    const cell = event.target.closest(".diff td[id]");
    const place = /^f\d+R(\d+)$/.exec(cell?.id);
    if (!place) return;
    decide.elements.path.value = cell.closest("[data-path]").dataset.path;
    decide.elements.line.value = place[1];
    decide.elements.body.focus();
  });
}
