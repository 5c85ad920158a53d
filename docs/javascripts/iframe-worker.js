/* The search runs in a worker, and a browser starts none from a folder: there, a hidden frame of the
   page runs the worker's script. The theme asks whether `IFrameWorker` is there. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.setAttribute("aria-hidden", "true");
      this.ready = new Promise((resolve) => {
        const begin = () => {
          frame.contentWindow.postMessage = (data) =>
            this.dispatchEvent(new MessageEvent("message", { data }));
          const script = frame.contentDocument.createElement("script");
          script.src = url;
          script.onload = () => resolve(frame.contentWindow);
          frame.contentDocument.body.append(script);
        };
        document.body.append(frame);
        begin();
      });
    }
    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
