/** The pictures that stand still: the widget on a page, the waiting room, the console, and the dashboard. */
import type { Page } from "playwright-core"
import { LETTERS, type Lines, type Program, type Theme } from "./program.ts"

const SCALE = 1.5

/** A page of a shop, behind the widget. */
const SHOP = `<header><b>Northwind</b><nav>Shop<span>Orders</span><span>Help</span></nav></header>
<main><h1>How can we help?</h1><p>Most questions are answered on this page. For the others, talk to Ada: she knows your orders, and she never sleeps.</p>
<ul><li><b>Delivery</b>Two to four days in Europe.</li><li><b>Returns</b>Free for 60 days.</li><li><b>Repairs</b>We mend what we sell.</li><li><b>Sizes</b>Half a size larger than most.</li></ul></main>`

const SHOP_STYLE = `header { display: flex; justify-content: space-between; padding: 22px 40px; border-bottom: 1px solid var(--rule); background: var(--raised) }
nav span { margin-left: 28px } nav { color: var(--soft) }
main { padding: 36px 40px; max-width: 430px } h1 { margin: 0 0 12px; font-size: 34px; letter-spacing: -.02em } p { margin: 0; color: var(--soft); line-height: 1.55 }
ul { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; margin: 28px 0 0; padding: 0; list-style: none }
li { padding: 16px; border: 1px solid var(--rule); border-radius: 12px; background: var(--raised); color: var(--soft); font-size: 14px; line-height: 1.5 } li b { display: block; color: var(--ink) }
voice-agent { --voice-agent-font: var(--sans) }`

/** The shop's page with the floating widget, which is open. `attributes` are what else the element has. */
const openShop = (program: Program, theme: Theme, attributes = "", lines?: Lines): Promise<Page> =>
  program.openShop({
    theme,
    width: 900,
    height: 640,
    scale: SCALE,
    still: true,
    text: SHOP,
    style: SHOP_STYLE,
    widget: `mode="floating" open agent-name="Ada" ${attributes}`,
    ...(lines === undefined ? {} : { lines }),
  })

/** A call in the floating widget, on a page. */
export const widget = async (program: Program, theme: Theme): Promise<Buffer> => {
  const lines = [
    ["caller", "Where is my order?"],
    ["agent", "It left our warehouse this morning. It arrives tomorrow before noon."],
    ["caller", "Can it be left with a neighbour?"],
    ["agent", "Yes. I’ve told the courier: https://northwind.example/parcel"],
  ] as const
  const page = await openShop(program, theme, "", (say) => {
    say("Hi, this is Ada. How can I help?")
    for (const [role, text] of lines) say(text, role)
  })
  await page.getByRole("button", { name: "Start a call", exact: true }).click()
  await page.getByText("I’ve told the courier").waitFor()
  // as long as it takes to say all that
  await page.getByText(/^0:3[4-9]$/).waitFor()
  return finish(page)
}

/** A place in the queue, with the other ways to wait. */
export const waitingRoom = async (program: Program, theme: Theme): Promise<Buffer> => {
  const page = await openShop(program, theme, "notify handoff picture-in-picture")
  await page.getByRole("button", { name: "Join the queue", exact: true }).click()
  await page.getByRole("heading", { level: 2, name: "Your place in the queue" }).waitFor()
  // the estimate comes with the next position
  await page.waitForTimeout(3_000)
  return finish(page)
}

/** A campaign that is closed, with what it offers instead: what a gate with hours and offers answers. */
export const closed = async (program: Program, theme: Theme): Promise<Buffer> => {
  // soon enough to be said by the name of its day
  const opensAt = new Date()
  opensAt.setDate(opensAt.getDate() + 2)
  opensAt.setHours(10, 0, 0, 0)
  const page = await openShop(program, theme, 'check="off"')
  const problem = {
    type: "about:blank",
    title: "closed",
    status: 503,
    code: "closed",
    message: "Closed.",
    opensAt: opensAt.toISOString(),
    retryAfterSeconds: Math.ceil((opensAt.getTime() - Date.now()) / 1_000),
    offers: [
      { kind: "number", label: "Call the shop", target: "tel:+49301234567" },
      { kind: "link", label: "Write to us", target: "https://northwind.example/contact" },
    ],
  }
  await page.route("**/api/session/request", (route) =>
    route.request().method() === "OPTIONS"
      ? route.continue()
      : route.fulfill({
          status: 503,
          contentType: "application/problem+json",
          headers: {
            "access-control-allow-origin": route.request().headers().origin ?? "*",
            "access-control-allow-credentials": "true",
          },
          body: JSON.stringify(problem),
        }),
  )
  await page.getByRole("button", { name: "Start a call", exact: true }).click()
  await page.getByText("We’re closed").first().waitFor()
  return finish(page)
}

const finish = async (page: Page): Promise<Buffer> => {
  await page.mouse.move(0, 0)
  await page.evaluate("document.fonts.ready.then(() => {})")
  const picture = await page.screenshot()
  await page.context().close()
  return picture
}

/** A page of the gate, which takes no letters from elsewhere. */
const openPage = async (program: Program, theme: Theme, address: string): Promise<Page> => {
  const context = await program.browser.newContext({
    viewport: { width: 1_280, height: 860 },
    deviceScaleFactor: SCALE,
    colorScheme: theme,
    reducedMotion: "reduce",
    bypassCSP: true,
  })
  const page = await context.newPage()
  await page.goto(address)
  await page.addStyleTag({ content: LETTERS })
  return page
}

/** Three callers, one after the other: somebody waits in the picture, however the hour has ended. */
const callSome = async ({ gate }: Program): Promise<void> => {
  for (const clientIdentifier of ["customer-71", "customer-204", "customer-12"]) {
    await fetch(`${gate}/api/session/request`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ clientIdentifier }),
    })
    await new Promise((resolve) => setTimeout(resolve, 7_000))
  }
}

export const console = async (program: Program, theme: Theme): Promise<Buffer> => {
  await callSome(program)
  const page = await openPage(program, theme, `${program.gate}/console`)
  await page.getByLabel("Console token").fill(program.consoleToken)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("Live", { exact: true }).waitFor()
  await page.waitForTimeout(4_000)
  return finish(page)
}

export const dashboard = async (program: Program, theme: Theme): Promise<Buffer> => {
  const { email, origin, password } = program.platform
  const page = await openPage(program, theme, `${origin}/`)
  await page.getByLabel("Email address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  await page.waitForTimeout(2_000)
  return finish(page)
}
