// Swipes on a touch screen.

const FAR = 60;

export function swipes(element, { left, right }) {
  let start = null;
  element.addEventListener("pointerdown", (event) => {
    start = event.pointerType === "mouse" || element.classList.contains("zoomed") ? null : event;
  });
  element.addEventListener("pointermove", (event) => {
    if (start) element.style.setProperty("--drag", `${event.clientX - start.clientX}px`);
  });
  const end = (event) => {
    if (!start) return;
    const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY];
    start = null;
    element.style.removeProperty("--drag");
    if (event.type === "pointercancel" || Math.abs(x) < FAR || Math.abs(y) > Math.abs(x)) return;
    (x > 0 ? right : left)();
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}
