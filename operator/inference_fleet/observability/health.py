"""/healthz, /readyz and /metrics."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from inference_fleet.observability.metrics import Metrics

Check = Callable[[], str | None]
"""What is wrong, or None."""


async def serve(ports: set[int], healthy: Check, ready: Check, metrics: Metrics) -> web.AppRunner:
    """Answer on every given port until the runner is cleaned up."""

    def probe(check: Check) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(_: web.Request) -> web.StreamResponse:
            wrong = check()
            return web.Response(text=wrong or "ok", status=503 if wrong else 200)

        return answer

    async def scrape(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), content_type="text/plain", charset="utf-8")

    app = web.Application()
    app.router.add_get("/healthz", probe(healthy))
    app.router.add_get("/readyz", probe(ready))
    app.router.add_get("/metrics", scrape)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    for port in sorted(ports):
        await web.TCPSite(runner, None, port).start()
    return runner
