/** The frame of the page: shows the sign-in form or, when signed in, the dashboard. */
import type { JSX } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Account } from "../../platform/http/dashboard/shapes.ts"
import { focusHeading } from "../shared/parts/focus.ts"
import { Wordmark } from "../shared/parts/Wordmark.tsx"
import { api } from "./client.ts"
import { Navigation, NavigationButton } from "./Navigation.tsx"
import { Audit } from "./pages/Audit.tsx"
import { AccountPage } from "./pages/account/Account.tsx"
import { Businesses } from "./pages/businesses/Businesses.tsx"
import { Conversations } from "./pages/conversations/Conversations.tsx"
import { Live } from "./pages/conversations/Live.tsx"
import { Transcript } from "./pages/conversations/Transcript.tsx"
import { Deliveries } from "./pages/deliveries/Deliveries.tsx"
import { Delivery } from "./pages/deliveries/Delivery.tsx"
import { Embed } from "./pages/embed/Embed.tsx"
import { Key } from "./pages/keys/Key.tsx"
import { Keys } from "./pages/keys/Keys.tsx"
import { Overview } from "./pages/overview/Overview.tsx"
import { Setup } from "./pages/setup/Setup.tsx"
import { useAction } from "./parts/action.ts"
import { useLoad } from "./parts/load.ts"
import { Problem } from "./parts/Problem.tsx"
import { Show } from "./parts/Show.tsx"
import { type PageName, type Route, route } from "./router.ts"
import { SignInAgain, SignInPage } from "./SignIn.tsx"
import { session, signIn, signOut } from "./session.ts"
import * as words from "./words.ts"

export const App = (): JSX.Element => {
  const now = session.value
  switch (now.name) {
    case "asking":
      return <Asking />
    case "out":
      return <SignInPage />
    case "in":
      return (
        <>
          <Frame key={now.account.id} account={now.account} />
          {now.again && <SignInAgain account={now.account} />}
        </>
      )
  }
}

/** Shown until the session is known. */
const Asking = (): JSX.Element => {
  const who = useLoad(() => api.session.whoAmI(), "who")
  useEffect(() => {
    if (who.value !== undefined) signIn(who.value)
    else if (who.failure?.kind === "signed-out") signOut()
  }, [who.value, who.failure])
  return (
    <main class="alone">
      <h1 class="unseen">voicegate platform</h1>
      <Show of={who} what="your account">
        {() => null}
      </Show>
    </main>
  )
}

const Frame = ({ account }: { readonly account: Account }): JSX.Element => {
  const shown = route.value
  const leaving = useAction()
  const first = useRef(true)
  const [isNavigating, setNavigating] = useState(false)
  const place = `${shown.page}/${shown.id ?? ""}`
  useLayoutEffect(() => {
    document.title = `${words.titles[shown.page]} · voicegate platform`
    // The browser handles focus on the first page; after a navigation, focus moves to the heading.
    if (!first.current) focusHeading()
    first.current = false
  }, [place])
  return (
    <>
      <button type="button" class="skip" onClick={focusHeading}>
        Skip to content
      </button>
      <header class="site">
        <Wordmark of="platform" />
        <div class="account">
          <p title={account.email}>{account.name}</p>
          <button
            type="button"
            class="quiet"
            aria-disabled={leaving.busy}
            onClick={() => void leaving.run(api.session.signOut(), signOut)}
          >
            {leaving.busy ? "Signing out…" : "Sign out"}
          </button>
          <NavigationButton isOpen={isNavigating} onToggle={() => setNavigating(!isNavigating)} />
        </div>
      </header>
      <Problem of={leaving.failure} />
      <div class="frame">
        <Navigation shown={shown.page} isOpen={isNavigating} onClose={() => setNavigating(false)} />
        <main id="main" key={place}>
          <PageOf account={account} name={shown.page} route={shown} />
        </main>
      </div>
    </>
  )
}

const PageOf = ({
  account,
  name,
  route,
}: {
  readonly account: Account
  readonly name: PageName
  readonly route: Route
}): JSX.Element => {
  switch (name) {
    case "overview":
      return <Overview />
    case "keys":
      return route.id === undefined ? <Keys /> : <Key id={route.id} />
    case "businesses":
      return route.id === undefined ? <Businesses /> : <Embed campaignId={route.id} />
    case "conversations":
      return route.id === undefined ? (
        <Conversations route={route} />
      ) : (
        <Transcript businessId={route.query.get("business") ?? ""} id={route.id} />
      )
    case "live":
      return <Live />
    case "webhooks":
      return route.id === undefined ? <Deliveries route={route} /> : <Delivery id={route.id} />
    case "audit":
      return <Audit route={route} />
    case "setup":
      return <Setup account={account} />
    case "account":
      return <AccountPage account={account} />
  }
}
