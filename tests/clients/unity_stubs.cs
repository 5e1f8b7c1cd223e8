// Just enough of UnityEngine and NetMQ to compile the Unity client against; signatures as documented, bodies of no meaning.
using System;
using System.Collections.Generic;

namespace UnityEngine
{
    public class Object { public string name; }
    public class Component : Object { public Transform transform; public T GetComponent<T>() { return default(T); } }
    public class MonoBehaviour : Component { }
    public class Transform : Component
    {
        public Quaternion rotation, localRotation;
        public Vector3 position, localPosition, localScale;
        public Transform parent;
        public Vector3 TransformPoint(Vector3 p) { return p; }
    }
    public struct Vector3
    {
        public float x, y, z;
        public Vector3(float x, float y, float z) { this.x = x; this.y = y; this.z = z; }
        public static Vector3 zero;
        public static Vector3 Scale(Vector3 a, Vector3 b) { return a; }
        public static Vector3 operator +(Vector3 a, Vector3 b) { return a; }
        public static Vector3 operator *(Vector3 a, float f) { return a; }
    }
    public struct Quaternion
    {
        public Quaternion(float x, float y, float z, float w) { }
        public static Quaternion identity;
        public static Quaternion operator *(Quaternion a, Quaternion b) { return a; }
        public static Vector3 operator *(Quaternion a, Vector3 v) { return v; }
    }
    public static class Mathf
    {
        public static float Max(float a, float b) { return a; }
        public static float Min(float a, float b) { return a; }
    }
    public enum HumanBodyBones { Hips, LeftUpperLeg }
    public struct SkeletonBone { public string name; public Vector3 position, scale; public Quaternion rotation; }
    public struct HumanDescription { public SkeletonBone[] skeleton; }
    public class Avatar : Object { public bool isHuman; public HumanDescription humanDescription; }
    public class Animator : Component { public Avatar avatar; public Transform GetBoneTransform(HumanBodyBones bone) { return null; } }
    public class SerializeField : Attribute { }
    public class RequireComponent : Attribute { public RequireComponent(Type type) { } }
}

namespace AsyncIO { public static class ForceDotNet { public static void Force() { } } }

namespace NetMQ
{
    public class SocketOptions { public int ReceiveHighWatermark; public TimeSpan Linger; }
    public interface IReceivingSocket { }
    public static class NetMQConfig { public static void Cleanup(bool block) { } }
    public static class ReceivingSocketExtensions
    {
        public static bool TryReceiveFrameBytes(this IReceivingSocket socket, TimeSpan timeout, out byte[] bytes) { bytes = null; return false; }
    }
}

namespace NetMQ.Sockets
{
    public class SubscriberSocket : IReceivingSocket, IDisposable
    {
        public SocketOptions Options = new SocketOptions();
        public void Connect(string address) { }
        public void Subscribe(string topic) { }
        public void Dispose() { }
    }
}
