"""The picture of the cluster stays right whatever order the events come in."""

from inference_fleet.reconciler.cache import LATER, SOON, Cache
from inference_fleet.reconciler.observed import ServiceKey, child_view
from tests.unit.reconciler import objects

CHAT = ServiceKey("team-a", "chat")


def test_a_new_spec_is_due_at_once_and_an_event_told_twice_is_not() -> None:
    cache = Cache()
    body = objects.service()
    assert cache.put("InferenceService", body) == [(CHAT, SOON)]
    assert cache.put("InferenceService", body) == []


def test_a_late_event_does_not_undo_a_newer_one() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    cache.put("Pod", objects.pod("a", version=100, role="warm"))
    assert cache.put("Pod", objects.pod("a", version=99, role="serving")) == []
    assert [pod.view.role for pod in cache.observed(CHAT).pods] == ["warm"]


def test_a_pod_that_changed_in_nothing_of_note_wakes_nobody() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    assert cache.put("Pod", objects.pod("a", version=5)) == [(CHAT, SOON)]
    assert cache.put("Pod", objects.pod("a", version=6, status={"podIP": "192.0.2.7"})) == []
    assert cache.put("Pod", objects.pod("a", version=7, ready=False)) == [(CHAT, SOON)]


def test_a_rollouts_progress_is_looked_at_without_hurry_but_a_hand_edit_at_once() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    labels = objects.pod("x")["metadata"]["labels"]
    manifest = {
        "metadata": {"name": "chat-h100", "labels": labels},
        "spec": {"replicas": 1, "template": {"metadata": {}, "spec": {}}},
    }
    assert cache.put("Deployment", objects.live(manifest, version=1)) == [(CHAT, SOON)]
    assert cache.put("Deployment", objects.live(manifest, version=2, status={"replicas": 1})) == [(CHAT, LATER)]
    edited = {**manifest, "spec": {**manifest["spec"], "replicas": 5}}
    assert cache.put("Deployment", objects.live(edited, version=3)) == [(CHAT, SOON)]


def test_a_deleted_pod_is_gone_and_a_ghost_is_swept() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    for name in ("a", "b", "c"):
        cache.put("Pod", objects.pod(name))
    assert cache.remove("Pod", objects.pod("a")) == [(CHAT, SOON)]
    known = cache.known("Pod")
    cache.put("Pod", objects.pod("born-during-the-list"))
    assert cache.sweep(known, alive=["uid-b"]) == [(CHAT, SOON)]
    assert {pod.view.name for pod in cache.observed(CHAT).pods} == {"b", "born-during-the-list"}


def test_a_new_object_of_an_old_name_replaces_it_and_the_old_deletion_does_not_hurt_it() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    old = objects.pod("a")
    new = objects.pod("a")
    new["metadata"]["uid"] = "uid-other"
    cache.put("Pod", old)
    cache.put("Pod", new)
    assert cache.remove("Pod", old) == []
    assert [pod.view.uid for pod in cache.observed(CHAT).pods] == ["uid-other"]


def test_services_whose_names_concatenate_alike_see_only_their_own() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service("chat"))
    cache.put("InferenceService", objects.service("chat-h100"))
    cache.put("Pod", objects.pod("a", service="chat", pool="h100-x"))
    cache.put("Pod", objects.pod("b", service="chat-h100", pool="x"))
    assert [pod.view.name for pod in cache.observed(CHAT).pods] == ["a"]
    assert [pod.view.name for pod in cache.observed(ServiceKey("team-a", "chat-h100")).pods] == ["b"]


def test_a_pod_relabelled_to_another_service_moves_there() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service("chat"))
    cache.put("Pod", objects.pod("a", version=1))
    cache.put("Pod", objects.pod("a", version=2, service="other"))
    assert cache.observed(CHAT).pods == ()


def test_an_answer_that_comes_after_the_deletion_brings_nothing_back() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    cache.put("Pod", objects.pod("a", version=10))
    cache.remove("Pod", objects.pod("a", version=12))
    assert cache.put("Pod", objects.pod("a", version=11, role="warm")) == []
    assert cache.observed(CHAT).pods == ()
    cache.remove("InferenceService", objects.service(version=20))
    assert cache.put("InferenceService", objects.service(version=19)) == []
    assert cache.services() == ()


def test_an_object_that_only_left_the_watch_comes_back_with_its_next_version() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    cache.put("Pod", objects.pod("a", version=10))
    cache.remove("Pod", objects.pod("a", version=12))  # its label was taken away
    assert cache.put("Pod", objects.pod("a", version=13)) == [(CHAT, SOON)]


def test_the_answer_to_a_write_does_not_bring_a_deleted_child_back() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    manifest = {"metadata": {"name": "chat", "labels": objects.pod("x")["metadata"]["labels"]}, "spec": {}}
    cache.remove("Service", objects.live(manifest, version=9))
    assert cache.put_child(child_view("Service", objects.live(manifest, version=8)).as_verified("hash")) == []
    assert cache.observed(CHAT).children == ()


def test_a_child_whose_label_was_taken_away_is_still_its_owners() -> None:
    cache = Cache()
    cache.put("InferenceService", objects.service())
    owner = {"kind": "InferenceService", "name": "chat", "uid": "uid-chat", "controller": True}
    manifest = {"metadata": {"name": "chat-l4", "labels": {}, "ownerReferences": [owner]}, "spec": {}}
    assert cache.put("Service", objects.live(manifest)) == [(CHAT, SOON)]
    assert [child.name for child in cache.observed(CHAT).children] == ["chat-l4"]


def test_a_late_event_of_the_predecessor_does_not_displace_its_successor() -> None:
    cache = Cache()
    old, new = objects.service(version=10), objects.service(version=20)
    new["metadata"]["uid"] = "uid-successor"
    cache.put("InferenceService", new)
    assert cache.put("InferenceService", old) == []
    assert cache.remove("InferenceService", objects.service(version=15)) == []
    assert [view.uid for view in cache.services()] == ["uid-successor"]
    manifest = {"metadata": {"name": "chat", "labels": objects.pod("x")["metadata"]["labels"]}, "spec": {}}
    child = objects.live(manifest, version=20)
    child["metadata"]["uid"] = "uid-successor"
    cache.put("Service", child)
    assert cache.put("Service", objects.live(manifest, version=10)) == []
    assert [view.uid for view in cache.observed(CHAT).children] == ["uid-successor"]
