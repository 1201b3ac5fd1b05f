"""Holds what makes the rows of each name that `quickstart` may have: their fields, and their key. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from connect.api import schema as s
from connectors.samples.datagen.patterns import Pattern
from connectors.samples.datagen.values import Choice, Counted, Lists, MadeTexts, Numbers, Structs, Values

_EPOCH_MS: Final = 1_700_000_000_000
_CITIES: Final = ("Oslo", "Lyon", "Graz", "Porto", "Turku", "Brno", "Ghent", "Leeds")
_STATES: Final = ("NO", "FR", "AT", "PT", "FI", "CZ", "BE", "UK")
_FIRST: Final = ("Ada", "Bo", "Carla", "Dag", "Eva", "Finn", "Greta", "Hugo")
_LAST: Final = ("Berg", "Costa", "Dahl", "Eder", "Fabre", "Groen", "Holm", "Ivars")


@dataclass(frozen=True, slots=True)
class QuickStart:
    """Holds what makes the rows of a quick start, and the name of the field that is their key."""

    key: str
    rows: Structs


def _long(least: int, below: int) -> Values:
    return Numbers(s.Schema(s.Type.INT64), least, below)


def _int(least: int, below: int) -> Values:
    return Numbers(s.Schema(s.Type.INT32), least, below)


def _double(least: float, below: float) -> Values:
    return Numbers(s.Schema(s.Type.FLOAT64), least, below)


def _count(start: int = 0, step: int = 1) -> Values:
    return Counted(s.Schema(s.Type.INT64), start, step, None)


def _count_int(start: int = 0, restart: int = 2**31 - 1) -> Values:
    return Counted(s.Schema(s.Type.INT32), start, 1, restart)


def _one_of(*texts: str) -> Values:
    return Choice(s.Schema(s.Type.STRING), texts)


def _like(pattern: str) -> Values:
    return MadeTexts(s.Schema(s.Type.STRING), Pattern(pattern).text)


def _time_ms() -> Values:
    return _long(_EPOCH_MS, _EPOCH_MS + 86_400_000 * 90)


_Members = dict[str, Values]


def _shop() -> Mapping[str, tuple[str, _Members]]:
    address = Structs(
        "address", {"city": _one_of(*_CITIES), "state": _one_of(*_STATES), "zipcode": _long(10000, 99999)}
    )
    lines = Structs("order_line", {
        "product_id": _int(1, 100), "category": _one_of("pizza", "salad", "dessert", "wine"), "quantity": _int(1, 6),
        "unit_price": _double(2, 20), "net_price": _double(2, 80),
    })  # fmt: skip
    return {
        "orders": ("orderid", {
            "ordertime": _time_ms(), "orderid": _count_int(), "itemid": _like("Item_[1-9][0-9]{0,2}"),
            "orderunits": _double(0, 10), "address": address,
        }),
        "inventory": ("id", {"id": _count(), "quantity": _long(1, 100), "productid": _long(1, 20)}),
        "product": ("id", {
            "id": _count(10), "name": _like("Product_[1-9][0-9]?"), "description": _like("[a-z]{5} [a-z]{7}"),
            "price": _double(1, 100),
        }),
        "purchases": ("id", {
            "id": _count(), "item_type": _one_of("bike", "boat", "book", "lamp"), "quantity": _long(1, 10),
        }),
        "transactions": ("transaction_id", {
            "transaction_id": _count(1), "card_id": _long(1, 25), "user_id": _like("User_[1-9]"),
            "purchase_id": _count(), "store_id": _long(1, 8),
        }),
        "stores": ("store_id", {"store_id": _long(1, 8), "city": _one_of(*_CITIES), "state": _one_of(*_STATES)}),
        "credit_cards": ("card_id", {
            "card_id": _count(1), "card_number": _like("0000-[0-9]{4}-[0-9]{4}-[0-9]{4}"), "cvv": _like("[0-9]{3}"),
            "expiration_date": _like("0[1-9]/3[0-9]"),
        }),
        "pizza_orders": ("store_id", {
            "store_id": _int(1, 10), "store_order_id": _count_int(1000), "coupon_code": _int(1000, 2000),
            "date": _int(19000, 20000), "status": _one_of("accepted"), "order_lines": Lists(lines, 1, 4),
        }),
        "shoes": ("id", {
            "id": _like("[0-9a-f]{8}"), "brand": _like("[A-Z][a-z]{5}"), "name": _like("[A-Z][a-z]{4} [0-9]{2}"),
            "sale_price": _int(2000, 20000), "rating": _double(1, 5),
        }),
        "shoe_customers": ("id", {
            "id": _like("[0-9a-f]{8}"), "first_name": _one_of(*_FIRST), "last_name": _one_of(*_LAST),
            "email": _like("[a-z]{6}@example[.]com"), "phone": _like("000-[0-9]{3}-[0-9]{4}"),
            "street_address": _like("[1-9][0-9] [A-Z][a-z]{6} Street"), "state": _one_of(*_STATES),
            "zip_code": _like("[0-9]{5}"), "country": _one_of("Norway", "France"), "country_code": _one_of("NO", "FR"),
        }),
        "shoe_orders": ("order_id", {
            "order_id": _count_int(1000), "product_id": _like("[0-9a-f]{8}"), "customer_id": _like("[0-9a-f]{8}"),
            "ts": _time_ms(),
        }),
    }  # fmt: skip


def _visits() -> Mapping[str, tuple[str, _Members]]:
    ip, level = _like("10[.][0-9]{2}[.][0-9]{2}[.][0-9]{2}"), _one_of("Gold", "Silver", "Platinum")
    page = _one_of("/index.html", "/cart.html", "/images/logo.png", "/account/login")
    return {
        "users": ("userid", {
            "registertime": _time_ms(), "userid": _like("User_[1-9]"), "regionid": _like("Region_[1-9]"),
            "gender": _one_of("MALE", "FEMALE", "OTHER"),
        }),
        "pageviews": ("viewtime", {
            "viewtime": _count(1, 10), "userid": _like("User_[1-9]"), "pageid": _like("Page_[1-9][0-9]"),
        }),
        "clickstream": ("ip", {
            "ip": ip, "userid": _int(1, 40), "remote_user": _one_of("-"), "time": _like("[0-9]{5}"),
            "_time": _count(1, 10), "request": page, "status": _one_of("200", "302", "404", "405", "406", "407"),
            "bytes": _one_of("278", "1289", "2048", "4096", "14096"), "referrer": _one_of("-"),
            "agent": _one_of("Agent/1.0", "Agent/2.0"),
        }),
        "clickstream_codes": ("code", {
            "code": Choice(s.Schema(s.Type.INT32), [200, 302, 404, 405, 406, 407]),
            "definition": _one_of("Successful", "Redirect", "Page not found", "Method not allowed", "Not acceptable"),
        }),
        "clickstream_users": ("user_id", {
            "user_id": _count_int(1, 41), "username": _like("[a-z]{5}_[1-9]{2}"), "registered_at": _time_ms(),
            "first_name": _one_of(*_FIRST), "last_name": _one_of(*_LAST), "city": _one_of(*_CITIES), "level": level,
        }),
        "ratings": ("rating_id", {
            "rating_id": _count(1), "user_id": _int(1, 20), "stars": _int(1, 5), "route_id": _int(1, 10000),
            "rating_time": _count(1, 12), "channel": _one_of("web", "ios", "android", "ios-test"),
            "message": _one_of("Fine", "Late again", "Best seat so far", "Never again", "Friendly crew"),
        }),
        "shoe_clickstream": ("product_id", {
            "product_id": _like("[0-9a-f]{8}"), "user_id": _like("[0-9a-f]{8}"), "view_time": _int(10, 120),
            "page_url": _like("https://shop[.]example/[a-z]{5}"), "ip": ip, "ts": _time_ms(),
        }),
    }  # fmt: skip


def _others() -> Mapping[str, tuple[str, _Members]]:
    place = Structs("location", {"latitude": _double(47, 60), "longitude": _double(-3, 25)})
    return {
        "stock_trades": ("symbol", {
            "side": _one_of("BUY", "SELL"), "quantity": _int(1, 5000), "symbol": _like("Z[A-Z]{2}ZT"),
            "price": _int(5, 1000), "account": _like("[A-Z]{3}[1-9]{3}"), "userid": _like("User_[1-9]"),
        }),
        "campaign_finance": ("time", {
            "time": _count(1, 10), "cand_id": _like("C[0-9]{4}"), "party_affiliation": _one_of("RED", "BLUE", "GREEN"),
            "contribution": _long(1, 2000),
        }),
        "fleet_mgmt_location": ("vehicle_id", {"vehicle_id": _int(1000, 9999), "location": place, "ts": _time_ms()}),
        "fleet_mgmt_sensors": ("vehicle_id", {
            "vehicle_id": _int(1000, 9999), "engine_temperature": _int(100, 250), "average_rpm": _int(1800, 5000),
        }),
        "fleet_mgmt_description": ("vehicle_id", {
            "vehicle_id": _int(1000, 9999), "driver_name": _one_of(*_FIRST),
            "license_plate": _like("[A-Z]{2}-[0-9]{4}"),
        }),
    }  # fmt: skip


_FAMILIES: Final[tuple[Callable[[], Mapping[str, tuple[str, _Members]]], ...]] = (_shop, _visits, _others)


@cache
def quick_starts() -> Mapping[str, QuickStart]:
    """Return the quick starts by their names in lower case."""
    made = {name: both for family in _FAMILIES for name, both in family().items()}
    return {name: QuickStart(key, Structs(f"ksql.{name}", members)) for name, (key, members) in sorted(made.items())}
