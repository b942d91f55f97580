// Drop, paste or pick an image: its tags, where they are seen, and photos like it.

import { get, send } from "/static/js/api.js";
import { fill, h, picture } from "/static/js/dom.js";
import { percent, t } from "/static/js/i18n.js";
import { empty, guard, loading, reason } from "/static/js/ui.js";

const MAPS = 8;

export async function show(main) {
  const result = h("div.tryresult", { "aria-live": "polite" });
  const field = h("input.hidden", {
    type: "file", accept: "image/*", id: "pick", multiple: true,
    onchange: () => take(field.files),
  });
  const zone = h("label.drop.card", { for: "pick", tabindex: "0" }, h("strong", t("try.drop")), h("span.faint", t("try.how")));
  const take = guard((files) => explain([...files].filter((file) => file.type.startsWith("image/")), result));
  zone.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") field.click();
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files);
    });
  }
  document.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length) take(event.clipboardData.files);
  });
  fill(main, h("h1", t("try.title")), zone, field, result);
  fill(result, await samples(take));
}

// Some of the photos there are, for a first look.
async function samples(take) {
  const { photos } = await get("/api/photos?split=test&size=8");
  const others = photos.length ? photos : (await get("/api/photos?size=8")).photos;
  const choose = (photo) => guard(async () => {
    const image = await get(`/api/photos/${photo.photo}/picture?size=640`);
    await take([new File([image], photo.name, { type: "image/jpeg" })]);
  });
  return h("section", h("h2", t("try.samples")), h("div.samples", others.map((photo) =>
    h("button.plain", { type: "button", "aria-label": photo.name, onclick: choose(photo) }, picture(photo.photo, 320, "")))));
}

async function explain(files, result) {
  if (!files.length) {
    fill(result, empty(t("try.none"), t("try.none.why")));
    return;
  }
  loading(result);
  const answers = [];
  for (const file of files) {
    const form = new FormData();
    form.append("images", file);
    try {
      answers.push(one(file, await send("POST", `/api/explain?top=${MAPS}&nearest=6`, form)));
    } catch (error) {
      answers.push(h("section.card", h("h2", file.name), h("p.problem", reason(error))));
    }
  }
  fill(result, answers);
}

function one(file, answer) {
  const image = h("img.photo", { src: URL.createObjectURL(file), alt: file.name });
  const heat = h("img.heat", { alt: "", hidden: true });
  const list = h("ul.bars");
  const cut = h("input", { type: "range", min: "0", max: "1", step: "0.01", value: String(answer.threshold), "aria-label": t("try.cut") });
  const shown = h("output");
  const draw = () => {
    const from = Number(cut.value);
    shown.textContent = percent(from);
    const tags = answer.tags.filter((tag) => tag.probability >= from);
    fill(list, tags.length ? tags.map((tag) => bar(tag, heat)) : h("li.faint", t("try.below")));
  };
  cut.addEventListener("input", draw);
  draw();
  return h("section.card.tryone",
    h("div.frame.small", image, heat),
    h("div",
      h("h2", file.name),
      h("label.cut", t("try.cut"), " ", shown, cut),
      list,
      h("p.faint", t("try.heat")),
    ),
    h("div.alike",
      h("h2", t("try.alike")),
      h("div.alikes", answer.nearest.map((photo) =>
        h("figure", picture(photo.photo, 160, photo.name), h("figcaption", photo.tags.join(", ") || "–")))),
    ),
  );
}

function bar(tag, heat) {
  const on = () => {
    if (!tag.heat) return;
    heat.src = tag.heat;
    heat.hidden = false;
  };
  const off = () => (heat.hidden = true);
  return h("li",
    h("button.bar", { type: "button", onmouseenter: on, onmouseleave: off, onfocus: on, onblur: off, onclick: on },
      h("span.fill", { style: { width: `${100 * tag.probability}%` } }),
      h("span", tag.tag), h("span", percent(tag.probability))),
  );
}
